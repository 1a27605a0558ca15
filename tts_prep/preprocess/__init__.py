"""Prepare a corpus, once and in parallel: read and resample audio, compute mels and phoneme ids, write shards."""
