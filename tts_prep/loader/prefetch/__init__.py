"""Prefetching: batches computed, and data requested from disk, in advance."""
