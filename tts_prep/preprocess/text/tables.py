"""Tables of words: in a file beside the code, or in a compact notation in it."""

from collections.abc import Mapping
from functools import cache

from tts_prep.toml_files import read_toml


def word_table(text: str) -> dict[str, str]:
    """Parse ``key=value`` pairs separated by white space; ``+`` in a value is a space."""
    pairs = (word.partition("=") for word in text.split())
    return {key: value.replace("+", " ") for key, _, value in pairs}


@cache
def word_tables(package: str) -> Mapping[str, Mapping[str, str]]:
    """Return the tables of ``words.toml`` in a package by name."""
    return read_toml(package, "words.toml")
