"""Normalization of English texts, and ARPAbet by the CMU dictionary."""
