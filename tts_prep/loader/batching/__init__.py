"""Utterances to padded batches."""
