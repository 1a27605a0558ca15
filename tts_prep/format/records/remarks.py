"""Remarks of a text frontend, counted over many texts: unknown symbols, words missing from a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import MAX_COUNT, shown

_MAX_EXAMPLES = 20


class Remarks:
    """Counts by kind of remark and by symbol or word."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, tuple[int, str]]] = {}

    def add(self, kind: str, symbol: str, identifier: str, count: int = 1) -> None:
        """Count a symbol or word. The first utterance that has it is the example."""
        kinds = self._counts.setdefault(kind, {})
        earlier, first = kinds.get(symbol, (0, identifier))
        kinds[symbol] = (earlier + count, first)

    def clear(self) -> None:
        """Forget all."""
        self._counts.clear()

    def as_dict(self) -> dict[str, dict[str, tuple[int, str]]]:
        """Return for each kind and symbol (count, id of the first utterance), as in a shard's header."""
        return self._counts

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the count for each kind and symbol, as in the remarks on one row."""
        return {kind: {symbol: count for symbol, (count, _) in found.items()} for kind, found in self._counts.items()}

    @classmethod
    def merged(cls, remarks: Iterable[Mapping[str, Any]]) -> Remarks:
        """Return the sum of several results of `as_dict`, in corpus order."""
        total = cls()
        for counts in remarks:
            for kind, symbols in counts.items():
                for symbol, (count, identifier) in symbols.items():
                    total.add(kind, symbol, identifier, count)
        return total

    def summary(self) -> dict[str, Any]:
        """Return for each kind ``count``, ``different`` and the most frequent ``examples``, as in the manifest."""
        return {
            kind: {
                "count": sum(count for count, _ in symbols.values()),
                "different": len(symbols),
                "examples": [
                    {"symbol": symbol, "count": count, "id": identifier}
                    for symbol, (count, identifier) in sorted(symbols.items(), key=lambda item: (-item[1][0], item[0]))
                ][:_MAX_EXAMPLES],
            }
            for kind, symbols in sorted(self._counts.items())
        }


def check_row_remarks(where: Path | str, value: Mapping[str, Any]) -> None:
    """Check the ``row_remarks`` of a shard's header.

    Raises:
        CorruptStoreError: they are malformed.
    """
    for row, kinds in value.items():
        for symbols in kinds.values() if isinstance(kinds, dict) else [None]:
            counts = symbols.values() if isinstance(symbols, dict) else [None]
            if not all(type(count) is int and 0 < count <= MAX_COUNT for count in counts):
                raise CorruptStoreError(f"{where}: row_remarks {shown(row)}: expected counts, found {shown(symbols)}")


def check_remarks(where: Path | str, value: Mapping[str, Any]) -> None:
    """Check the ``remarks`` of a header.

    Raises:
        CorruptStoreError: they are malformed.
    """
    for kind, symbols in value.items():
        for symbol, found in symbols.items() if isinstance(symbols, dict) else [("", None)]:
            if not (
                isinstance(found, list)
                and len(found) == 2
                and type(found[0]) is int
                and 0 <= found[0] <= MAX_COUNT
                and isinstance(found[1], str)
            ):
                raise CorruptStoreError(
                    f"{where}: remarks {shown(kind)}, {shown(symbol)}: expected a count and an id, found {shown(found)}"
                )
