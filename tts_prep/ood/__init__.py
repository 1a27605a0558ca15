"""Out-of-domain texts: sentences without recordings, in a store."""
