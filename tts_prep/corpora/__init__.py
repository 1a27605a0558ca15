"""Readers of other corpora than LJ Speech, and of lists and manifests."""
