"""What a text frontend notes of many texts, counted: unknown symbols, words that are not in the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_MOST_EXAMPLES = 20


class Remarks:
    """Counts by kind of remark and by symbol or word."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, tuple[int, str]]] = {}

    def add(self, kind: str, symbol: str, identifier: str, count: int = 1) -> None:
        """Count a symbol or word; the first utterance that has it is kept as the example."""
        kinds = self._found.setdefault(kind, {})
        earlier, first = kinds.get(symbol, (0, identifier))
        kinds[symbol] = (earlier + count, first)

    def as_dict(self) -> dict[str, dict[str, tuple[int, str]]]:
        """Return kind → symbol → (count, id of the first utterance), as in a shard's header."""
        return self._found

    @classmethod
    def merged(cls, parts: Iterable[Mapping[str, Any]]) -> Remarks:
        """Return the sum of several, given as `as_dict` gives them, in corpus order."""
        total = cls()
        for part in parts:
            for kind, symbols in part.items():
                for symbol, (count, identifier) in symbols.items():
                    total.add(kind, symbol, identifier, count)
        return total

    def summary(self) -> dict[str, Any]:
        """Return kind → ``count``, ``different`` and the most frequent ``examples``, as in the manifest."""
        return {
            kind: {
                "count": sum(count for count, _ in symbols.values()),
                "different": len(symbols),
                "examples": [
                    {"symbol": symbol, "count": count, "id": identifier}
                    for symbol, (count, identifier) in sorted(symbols.items(), key=lambda item: (-item[1][0], item[0]))
                ][:_MOST_EXAMPLES],
            }
            for kind, symbols in sorted(self._found.items())
        }


def check_remarks(value: Mapping[str, Any]) -> None:
    """Check the ``remarks`` of a header.

    Raises:
        ValueError, TypeError: they are not counts and ids.
    """
    for symbols in value.values():
        for count, identifier in symbols.values():
            if type(count) is not int or count < 0 or not isinstance(identifier, str):
                raise ValueError("a remark should be a count and an id")
