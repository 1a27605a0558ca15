"""Corrected texts and speakers of a corpus, and rows that are left out."""
