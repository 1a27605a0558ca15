"""Hints about probable mistakes: in commands, corpora, settings and texts."""
