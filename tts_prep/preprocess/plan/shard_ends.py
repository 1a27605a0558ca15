"""Decide where shards end, from the rows around each end.

Every row has a weight, of which shards should have one *unit*, and the hash of its id. A shard ends after a row whose
hash is the smallest within half a unit on both sides. Therefore an end depends on no row further away, and two ends are
more than half a unit apart. A shard of more than two units is divided at its row with the smallest hash that leaves
more than half a unit on both sides. So an inserted, removed or changed row changes its own shard and at most its
neighbours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class WeighedRow(Generic[T]):
    """A row of a corpus, and what decides whether a shard ends after it.

    Attributes:
        id: the id of the row; empty if it has none.
        weight: its share of a shard, a whole number.
    """

    row: T
    id: str
    weight: int


def shards_by_ids(rows: Iterable[WeighedRow[T]], unit: int) -> Iterator[list[T]]:
    """Yield the rows of each shard.

    Rows are held in memory until the next end is known: of one shard, and usually half of another.

    Args:
        unit: the weight that a shard should have; shards have more than half and at most twice as much, except for a
            smaller corpus, and around a row that has more than that alone.
    """
    segment = _Segment[T](unit)
    for row in rows:
        segment.append(row)
        while (count := segment.next_end()) is not None:
            yield from segment.taken(count)
    if segment.rows:
        yield from segment.taken(len(segment.rows))


@dataclass
class _Segment(Generic[T]):
    """The rows after the last end that depends on its surroundings alone.

    Attributes:
        ends: the sum of weights up to and with each row.
        checked: the number of rows that are known to be no end.
    """

    unit: int
    rows: list[T] = field(default_factory=list)
    hashes: list[bytes] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    checked: int = 0

    def append(self, row: WeighedRow[T]) -> None:
        self.rows.append(row.row)
        self.hashes.append(hashlib.sha256(row.id.encode("utf-8", "surrogatepass")).digest()[:8])
        self.ends.append((self.ends[-1] if self.ends else 0) + row.weight)

    def next_end(self) -> int | None:
        """Return the number of rows up to the next end; None if that is not known yet."""
        while self._is_far(self.ends[-1] - self.ends[self.checked]):
            self.checked += 1
            if self._is_end(self.checked - 1):
                return self.checked
        return None

    def _is_far(self, distance: int) -> bool:
        return 2 * distance > self.unit

    def _is_end(self, position: int) -> bool:
        """Return whether a row has the smallest hash around it. The first of equal ones counts as the smallest."""
        ends, hashes = self.ends, self.hashes
        # The last end has the smallest hash around it, so no other can be near it.
        if not self._is_far(ends[position]):
            return False
        before = position - 1
        while before >= 0 and not self._is_far(ends[position] - ends[before]):
            if hashes[before] <= hashes[position]:
                return False
            before -= 1
        after = position + 1
        while not self._is_far(ends[after] - ends[position]):
            if hashes[after] < hashes[position]:
                return False
            after += 1
        return True

    def taken(self, count: int) -> Iterator[list[T]]:
        """Yield the first rows as one or more shards, and remove them."""
        start = 0
        for end in self._divided(count):
            yield self.rows[start:end]
            start = end
        weight = self.ends[count - 1]
        del self.rows[:count], self.hashes[:count]
        self.ends = [end - weight for end in self.ends[count:]]
        self.checked = 0

    def _divided(self, count: int) -> Sequence[int]:
        """Return the ends within the first rows such that no shard has more than two units, and the last."""
        found = []
        # Ranges of rows that are not divided yet, the first one last.
        ranges = [(0, count)]
        while ranges:
            start, end = ranges.pop()
            low, high = (self.ends[start - 1] if start else 0), self.ends[end - 1]
            inner = range(start, end - 1) if high - low > 2 * self.unit else ()
            fit = [i for i in inner if self._is_far(self.ends[i] - low) and self._is_far(high - self.ends[i])]
            if fit:
                middle = min(fit, key=self.hashes.__getitem__) + 1
                ranges += [(middle, end), (start, middle)]
            else:
                found.append(end)
        return found
