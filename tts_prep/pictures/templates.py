"""The templates of pages and cards: everything that comes from a store is escaped, and its length is limited."""

from __future__ import annotations

import re
import unicodedata

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tts_prep.quantities import bytes_text, duration_text, number_text

MAX_CHARACTERS = 1_000
"""Of one text of a store on a page."""

_MAX_WORD = 40
"""Characters of a word that is kept on one line."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}")


def make_environment(*packages: str) -> Environment:
    """Return an environment for the templates of packages of ours, and of this one."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(f"tts_prep.{name}", "") for name in (*packages, "pictures")]),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        bytes=bytes_text,
        duration=duration_text,
        figure=number_text,
        language=_language,
        limited=limited,
        px=lambda value: f"{value:.1f}".removesuffix(".0"),
        symbol=symbol_text,
        unbroken=_unbroken,
    )
    return environment


def limited(text: object, n: int = MAX_CHARACTERS) -> str:
    """Return a text, cut where it is longer than n characters, with how many it had."""
    whole = str(text)
    return whole if len(whole) <= n else f"{whole[:n]}… ({len(whole):,} characters)"


def symbol_text(symbol: str) -> str:
    """Return a symbol so that it can be seen on its own: spaces as ␣, combining marks on a circle."""
    if not symbol.strip():
        return "␣" * max(1, len(symbol))
    return f"◌{symbol}" if unicodedata.combining(symbol[0]) else symbol


def _printable(value: object) -> object:
    """Return text without characters that cannot be shown or that change the direction of the text around them."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(
        character if character.isprintable() or character.isspace() else "\N{REPLACEMENT CHARACTER}"
        for character in value
    )


def _unbroken(text: str) -> Markup:
    """Return phonemes with each word on one line: browsers break lines before stress marks otherwise."""
    words = str(_printable(limited(text))).split(" ")
    unbroken = Markup('<span class="word">{}</span>')
    return Markup(" ").join(unbroken.format(word) if 0 < len(word) <= _MAX_WORD else word for word in words)


def _language(tag: str) -> str:
    """Return a language as the attribute ``lang`` can hold it, empty where it is none."""
    return tag if _LANGUAGE.fullmatch(tag) else ""
