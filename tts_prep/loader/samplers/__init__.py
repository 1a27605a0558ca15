"""Samplers: which utterances an epoch visits, in which order and in which batches."""
