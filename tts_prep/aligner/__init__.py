"""Durations of phonemes from a model of phones that is trained on the store itself."""
