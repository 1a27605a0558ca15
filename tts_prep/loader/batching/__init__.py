"""Collate utterances into padded batches."""
