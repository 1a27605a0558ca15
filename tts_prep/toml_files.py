"""Tables in files beside the code, and tables of words in a compact notation in it."""

import importlib.resources
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib as tomllib
else:
    import tomli as tomllib


def read_toml(package: str, *path: str) -> dict[str, Any]:
    """Return the contents of a TOML file of a package."""
    return tomllib.loads(importlib.resources.files(package).joinpath(*path).read_text("utf-8"))


def word_table(text: str) -> dict[str, str]:
    """Parse ``key=value`` pairs separated by white space; ``+`` in a value is a space."""
    pairs = (word.partition("=") for word in text.split())
    return {key: value.replace("+", " ") for key, _, value in pairs}


@cache
def word_tables(package: str) -> Mapping[str, Mapping[str, str]]:
    """Return the tables of ``words.toml`` in a package by name."""
    return read_toml(package, "words.toml")
