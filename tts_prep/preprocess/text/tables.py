"""Tables of words, written so that many fit into a few lines."""

from __future__ import annotations


def word_table(text: str) -> dict[str, str]:
    """Return the table of ``key=value`` words in a text; a ``+`` in a value is a space."""
    pairs = (word.partition("=") for word in text.split())
    return {key: value.replace("+", " ") for key, _, value in pairs}
