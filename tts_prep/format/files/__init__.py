"""Files and folders: atomic writes, locks, checksums, and paths of untrusted stores."""
