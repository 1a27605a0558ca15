"""Frontends of tokenizers of language models."""
