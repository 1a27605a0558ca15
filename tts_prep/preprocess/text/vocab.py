"""Symbols and their ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, TextError


class Vocab:
    """A table of symbols; the position of a symbol is its id.

    Args:
        symbols: where a symbol stands twice, its later id is the one in use.
        pad: the symbol that pads batches.

    Raises:
        ConfigurationError: the padding symbol is not one of the symbols.
    """

    def __init__(self, symbols: Iterable[str], pad: str) -> None:
        self.symbols = tuple(symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        if pad not in self._ids:
            raise ConfigurationError(f"vocabulary: the padding symbol {pad!r} is not among the {len(self)} symbols")
        self.pad = self._ids[pad]

    def __len__(self) -> int:
        return len(self.symbols)

    def lookup(self, symbol: str) -> int | None:
        """Return the id of a symbol, or None where it is not in the table."""
        return self._ids.get(symbol)

    def reverse(self, number: int) -> str:
        """Return the symbol of an id."""
        if not 0 <= number < len(self.symbols):
            raise TextError(f"id {number} is not in a vocabulary of {len(self)} symbols")
        return self.symbols[number]

    def encode(self, symbols: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the ids of symbols, [n] int32.

        Raises:
            TextError: a symbol is not in the table; the message counts and names every one that is not.
        """
        ids = [self._ids.get(symbol, -1) for symbol in symbols]
        if -1 in ids:
            raise TextError(_unknown([symbol for symbol, i in zip(symbols, ids, strict=True) if i < 0]))
        return np.array(ids, np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the symbols of ids."""
        return [self.reverse(int(number)) for number in ids]


def _unknown(symbols: list[str]) -> str:
    def describe(symbol: str) -> str:
        points = " ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'without a name')}" for c in symbol[:4])
        return f"{symbol!r} ({points}) × {symbols.count(symbol)}"

    kinds = list(dict.fromkeys(symbols))
    shown = ", ".join(describe(symbol) for symbol in kinds[:5]) + (", …" if len(kinds) > 5 else "")
    return f"{len(symbols)} symbol{'s' * (len(symbols) != 1)} not in the vocabulary: {shown}"
