"""Japanese, Korean and Mandarin, and corpora of several languages."""
