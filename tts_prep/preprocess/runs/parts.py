"""Make a store in independent parts: one command per part, in any order, then one command that finishes the store.

This is for batch systems without a running cluster. A part is every n-th shard of a common plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from tts_prep.errors import ConfigurationError


@dataclass(frozen=True)
class Part:
    """Part ``number`` of ``count``, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Parse ``"3/16"``.

        Raises:
            ConfigurationError: the text is malformed.
        """
        number, slash, count = text.partition("/")
        digits = number.isascii() and number.isdecimal() and count.isascii() and count.isdecimal() and len(text) < 20
        if not (slash and digits and 1 <= int(number) <= int(count)):
            raise ConfigurationError(f"part: expected K/N with K from 1 to N, such as 3/16, found {text!r}")
        return cls(int(number), int(count))
