"""Symbol tables in files, and what systems do to espeak-ng's phones before they look up ids."""
