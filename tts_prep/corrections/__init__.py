"""Corrected texts and speakers of a corpus, and rows that are trimmed, cut, merged or left out."""
