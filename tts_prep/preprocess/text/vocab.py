"""Symbols and their ids."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, TextError

UNKNOWN_POLICIES: Final = ("error", "unk", "drop")
"""What may be made of a symbol that is not in the vocabulary."""

PADDING: Final = "<pad>"
UNKNOWN: Final = "<unk>"
START: Final = "<s>"
END: Final = "</s>"


class Vocab:
    """A table of symbols; the position of a symbol is its id.

    Args:
        symbols: where a symbol stands twice, its later id is the one in use.
        pad: the symbol that pads batches.
        unk: the symbol that stands for unknown ones, where there is one.
        start, end: the symbols around a sequence, where there are any.

    Raises:
        ConfigurationError: a special symbol is not one of the symbols.
    """

    def __init__(
        self,
        symbols: Iterable[str],
        pad: str,
        *,
        unk: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> None:
        self.symbols = tuple(symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        for what, special in (("padding", pad), ("unknown", unk), ("start", start), ("end", end)):
            if special is not None and special not in self._ids:
                raise ConfigurationError(
                    f"vocabulary: the {what} symbol {special!r} is not among the {len(self)} symbols"
                )
        self.pad_symbol, self.unk_symbol, self.start_symbol, self.end_symbol = pad, unk, start, end
        self.pad = self._ids[pad]

    @classmethod
    def with_specials(
        cls, symbols: Iterable[str], pad: str = PADDING, unk: str = UNKNOWN, start: str = START, end: str = END
    ) -> Vocab:
        """Return a vocabulary whose ids 0 to 3 are the specials, as Parakeet has it."""
        return cls((pad, unk, start, end, *symbols), pad, unk=unk, start=start, end=end)

    @classmethod
    def from_table(cls, symbols: Sequence[str]) -> Vocab:
        """Return a vocabulary of a table as it stands in a file.

        The specials are found by their names ``<pad>``, ``<unk>``, ``<s>`` and ``</s>``; without ``<pad>``, the first
        symbol pads, as in StyleTTS2's and VITS's tables.

        Raises:
            ConfigurationError: the table is empty.
        """
        if not symbols:
            raise ConfigurationError("vocabulary: expected at least one symbol, found none")
        there = {name: name if name in symbols else None for name in (UNKNOWN, START, END)}
        pad = PADDING if PADDING in symbols else symbols[0]
        return cls(symbols, pad, unk=there[UNKNOWN], start=there[START], end=there[END])

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._ids

    @property
    def specials(self) -> frozenset[str]:
        """The symbols that stand for no sound and no mark."""
        found = (self.pad_symbol, self.unk_symbol, self.start_symbol, self.end_symbol)
        return frozenset(symbol for symbol in found if symbol is not None)

    def lookup(self, symbol: str) -> int | None:
        """Return the id of a symbol, or None where it is not in the table."""
        return self._ids.get(symbol)

    def reverse(self, number: int) -> str:
        """Return the symbol of an id.

        Raises:
            TextError: there is no such id.
        """
        if not 0 <= number < len(self.symbols):
            raise TextError(f"id {number} is not in a vocabulary of {len(self)} symbols")
        return self.symbols[number]

    def unknown(self, symbols: Iterable[str]) -> list[str]:
        """Return the symbols that are not in the table, repeats and order kept."""
        return [symbol for symbol in symbols if symbol not in self._ids]

    def encode(self, symbols: Sequence[str], unknown: str = "error") -> npt.NDArray[np.int32]:
        """Return the ids of symbols, [n] int32.

        Args:
            unknown: what becomes of a symbol that is not in the table: ``"error"``, ``"unk"`` (the id of the unknown
                symbol) or ``"drop"``.

        Raises:
            TextError: a symbol is not in the table; the message counts and names every one that is not.
        """
        ids = [self._ids.get(symbol, -1) for symbol in symbols]
        if -1 in ids:
            if unknown == "unk" and self.unk_symbol is not None:
                replacement = self._ids[self.unk_symbol]
                ids = [replacement if number < 0 else number for number in ids]
            elif unknown == "drop":
                ids = [number for number in ids if number >= 0]
            else:
                raise TextError(_unknown(self.unknown(symbols)))
        return np.array(ids, np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the symbols of ids."""
        return [self.reverse(int(number)) for number in ids]

    def as_dict(self) -> Mapping[str, Any]:
        """Return the vocabulary as it stands in the manifest: ``symbols``, and the ids of the specials it has."""
        specials = {"pad": self.pad_symbol, "unk": self.unk_symbol, "start": self.start_symbol, "end": self.end_symbol}
        ids = {name: self._ids[symbol] for name, symbol in specials.items() if symbol is not None}
        return {"symbols": list(self.symbols), **ids}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Vocab:
        """Return the vocabulary that a manifest holds: the inverse of `as_dict`."""
        symbols = value["symbols"]
        named = {name: symbols[value[name]] for name in ("unk", "start", "end") if name in value}
        return cls(symbols, symbols[value["pad"]], **named)


def describe_symbols(symbols: Iterable[str]) -> str:
    """Return different symbols with their code points and how often each stands there, the first five of them."""
    counts = Counter(symbols)

    def describe(symbol: str) -> str:
        points = " ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'without a name')}" for c in symbol[:4])
        return f"{symbol!r} ({points}) × {counts[symbol]}"

    return ", ".join(describe(symbol) for symbol in list(counts)[:5]) + (", …" if len(counts) > 5 else "")


def _unknown(symbols: list[str]) -> str:
    return f"{len(symbols)} symbol{'s' * (len(symbols) != 1)} not in the vocabulary: {describe_symbols(symbols)}"
