"""What systems do to a text before espeak-ng reads it, and to its phones before their ids are looked up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Steps: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]

TIE: Final = "\u0361"
"""What espeak-ng writes between the letters of one sound, if it is asked to."""


def _replaced(text: str, steps: Steps) -> str:
    for old, new in steps:
        text = old.sub(new, text)
    return text


@dataclass(frozen=True, eq=False)
class Preparation:
    """Replacements of a system.

    Attributes:
        about: what is replaced, for the page of tables.
        ours: what is not the system's, for the same page.
        text: replacements in the text.
        phones: those in espeak-ng's phones, by language; ``""`` is every other one.
        tied: espeak-ng puts `TIE` between the letters of one sound, which is removed after the replacements.
    """

    about: str = ""
    ours: str = ""
    text: Steps = ()
    phones: Mapping[str, Steps] = field(default_factory=dict)
    tied: bool = False

    def prepare(self, text: str) -> str:
        """Return a text as espeak-ng reads it."""
        return _replaced(text, self.text)

    def respell(self, phones: str, language: str) -> str:
        """Return phones of espeak-ng as the system's model knows them."""
        code = language
        while code not in self.phones and code:
            code = code.rpartition("-")[0]
        steps = self.phones.get(code, ())
        return _replaced(phones, steps).replace(TIE, "")


AS_READ: Final = Preparation()
"""Nothing is replaced."""
