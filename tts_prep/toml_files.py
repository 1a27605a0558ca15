"""TOML: tables in files beside the code, those of words in a compact notation in it, and texts of any origin."""

import importlib.resources
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# For each part of a name, tomllib looks at all before it: "a.a.a…" takes quadratic time. A setting has three parts.
_MAX_DOTS: Final = 40
_NOT_NAMES: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"""|\Z)|\'{3}.*?(?:\'{3}|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'[^'\n]*(?:'|$)|#[^\n]*|'''
    r"(?<![\w.])[+-]?\d+\.\d+",
    re.DOTALL | re.MULTILINE,
)


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


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text of any origin.

    Raises:
        ValueError: it is no TOML, nested too deeply, or has a name of very many parts.
    """
    bare = _NOT_NAMES.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") > _MAX_DOTS:
            raise ValueError(f"line {number} has {line.count('.'):,} dots, names have at most three parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
