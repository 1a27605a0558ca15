"""Making a store in parts that know nothing of each other: one command a part, in any order, then one that finishes.

For batch systems without a running cluster. A part is every n-th shard of the same plan.
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
        """Read ``"3/16"``.

        Raises:
            ConfigurationError: it is no such thing.
        """
        number, slash, count = text.partition("/")
        digits = number.isascii() and number.isdecimal() and count.isascii() and count.isdecimal() and len(text) < 20
        if not (slash and digits and 1 <= int(number) <= int(count)):
            raise ConfigurationError(f"part: expected K/N with K from 1 to N, such as 3/16, found {text!r}")
        return cls(int(number), int(count))
