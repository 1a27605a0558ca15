"""Compact notation for tables of words."""

from __future__ import annotations


def word_table(text: str) -> dict[str, str]:
    """Parse ``key=value`` pairs separated by white space; ``+`` in a value is a space."""
    pairs = (word.partition("=") for word in text.split())
    return {key: value.replace("+", " ") for key, _, value in pairs}
