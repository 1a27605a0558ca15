"""Corpus readers: they yield the utterances of a corpus."""
