"""Jinja environment of pages and cards: text of a store is escaped and limited in length."""

import re
import unicodedata
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tts_prep.quantities import bytes_text, duration_text, number_text, share_text

MAX_CHARACTERS = 1_000
"""The maximum length of a text of a store on a page."""

_MAX_WORD = 40
"""The maximum length of a word that is kept on one line."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}")


@cache
def make_environment(*packages: str) -> Environment:
    """Return the environment of the templates of this package and of other subpackages of ``tts_prep``.

    The same one for each call, because it keeps the templates that it has compiled.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(f"tts_prep.{name}", "") for name in (*packages, "pictures")]),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["zip"] = zip
    environment.filters.update(
        bytes=bytes_text,
        duration=duration_text,
        figure=number_text,
        language=_language,
        limited=limited,
        px=lambda value: f"{value:.1f}".removesuffix(".0"),
        share=share_text,
        symbol=symbol_text,
        unbroken=_unbroken,
    )
    return environment


def limited(text: object, n: int = MAX_CHARACTERS) -> str:
    """Truncate a text to n characters, and append its original length."""
    string = str(text)
    return string if len(string) <= n else f"{string[:n]}… ({len(string):,} characters)"


def symbol_text(symbol: str) -> str:
    """Return a visible form of a symbol: spaces as ␣, combining marks on a dotted circle."""
    if not symbol.strip():
        return "␣" * max(1, len(symbol))
    return f"◌{symbol}" if unicodedata.combining(symbol[0]) else symbol


def _printable(value: object) -> object:
    """Replace characters that are unprintable or that change the direction of surrounding text."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(
        character if character.isprintable() or character.isspace() else "\N{REPLACEMENT CHARACTER}"
        for character in value
    )


def _unbroken(text: str) -> Markup:
    """Return phonemes with each word kept on one line, because browsers break lines before stress marks.

    Words are separated by ``▁`` if there is one, because then spaces separate phonemes, and otherwise by spaces.
    """
    phonemes = str(_printable(limited(text)))
    space = " ▁ " if " ▁ " in phonemes else " "
    unbroken = Markup('<span class="word">{}</span>')
    words = [unbroken.format(word) if 0 < len(word) <= _MAX_WORD else word for word in phonemes.split(space)]
    return Markup(space).join(words)


def _language(tag: str) -> str:
    """Return a language tag for the attribute ``lang``, or an empty string if it is invalid."""
    return tag if _LANGUAGE.fullmatch(tag) else ""
