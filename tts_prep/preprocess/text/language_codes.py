"""Codes of languages, such as ``en-us``."""

from __future__ import annotations


def subtags(language: str) -> list[str]:
    """Return the parts of a language code in lower case: ``pt_BR`` is ``["pt", "br"]``."""
    return language.lower().replace("_", "-").split("-")
