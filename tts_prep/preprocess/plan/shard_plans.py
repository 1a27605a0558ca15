"""Plan the shards of a store: a pure function of corpus and configuration."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from tts_prep.errors import CorpusChangedError, CorpusError
from tts_prep.format.files.checksums import canonical_json, json_sha256, text_sha256
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.source_utterance import SourceUtterance, size_inside


@dataclass(frozen=True)
class PlannedUtterance:
    """An utterance, with its recording at planning time.

    Attributes:
        size: the size of the recording in bytes; −1 if it does not exist.
        modified: when it was modified, in nanoseconds since 1970; 0 if it does not exist.
    """

    utterance: SourceUtterance
    size: int
    modified: int = 0

    def check_unchanged(self, root: Path) -> None:
        """Check that the recording was not modified. A failed row instead would persist after it is fixed.

        Raises:
            CorpusChangedError: it was modified, or does not exist any more.
        """
        size, modified = row_version(root, self.utterance)
        if (size, modified) == (self.size, self.modified):
            return
        path = root / self.utterance.audio
        now, planned = ("missing" if n < 0 else f"{n:,} bytes" for n in (size, self.size))
        found = "modified after" if size == self.size else f"{now} now, {planned} when"
        raise CorpusChangedError(
            f"{path}: {found} the run was planned; do not modify the corpus while a store is made, run again to resume"
        )


@dataclass(frozen=True)
class PackedRows:
    """Rows compressed, because the plans of a million utterances stay in memory during the run.

    Attributes:
        data: the compressed canonical JSON of the rows, a line each, without the places of utterances in the corpus.
        places: the compressed JSON of these places, and of the times of recordings: lines move when other rows are
            inserted.
        sha256: the SHA-256 of what determines the contents of the shard, apart from those of recordings.
        versions: the SHA-256 of the sizes and times of its recordings.
    """

    data: bytes
    places: bytes
    sha256: str
    versions: str

    @classmethod
    def of(cls, rows: Sequence[PlannedUtterance | Failure]) -> PackedRows:
        """Compress rows: each is the pair of its fields and the size of its recording, null for a failure."""
        texts = [_row_text(row) for row in rows]
        times = [0 if isinstance(row, Failure) else row.modified for row in rows]
        sizes = [0 if isinstance(row, Failure) else row.size for row in rows]
        places = canonical_json([[_place(row), time] for row, time in zip(rows, times, strict=True)])
        sha256 = text_sha256("".join(f"{text_sha256(text)}\n" for text in texts))
        # The fastest level compresses nearly as well as the slower ones.
        data = zlib.compress("\n".join(texts).encode(), 1)
        return cls(data, zlib.compress(places.encode(), 1), sha256, json_sha256([sizes, times]))

    def texts(self) -> list[str]:
        """Return the canonical JSON of each row, on which its key depends."""
        return zlib.decompress(self.data).decode().split("\n")

    def rows(self, texts: Sequence[str] = ()) -> tuple[PlannedUtterance | Failure, ...]:
        """Return the rows, decompressed; ``texts``: what `texts` has returned, if it was called before."""
        found, places = json.loads(f"[{','.join(texts or self.texts())}]"), json.loads(zlib.decompress(self.places))
        return tuple(
            Failure(**fields) if size is None else PlannedUtterance(_unpacked({**fields, **place}), size, time)
            for (fields, size), (place, time) in zip(found, places, strict=True)
        )


def _row_text(row: PlannedUtterance | Failure) -> str:
    """Return a row as in the key of its shard. The places of an utterance and of its lists are no part of it."""
    if isinstance(row, Failure):
        return canonical_json((vars(row), None))
    fields = {**_fields(row.utterance), "where": ""}
    del fields["lists_at"]
    # Those that few rows have are in their keys alone.
    for name in ("lists", "then"):
        if not fields[name]:
            del fields[name]
    return canonical_json((fields, row.size))


@dataclass(frozen=True)
class OldShard:
    """A shard of a store that is replaced, from which files can be taken over.

    Attributes:
        store: the store.
        number: the number of the shard there.
        is_broken: the shard itself must not be taken over.
    """

    store: Path
    number: int
    is_broken: bool = False


@dataclass(frozen=True)
class OldRow:
    """The place of a row in a store that is replaced: the number of the shard, and its position there."""

    shard: int
    position: int


@dataclass(frozen=True)
class OldRows:
    """Where the rows of a changed shard are in the store that is replaced.

    Attributes:
        store: the store.
        places: the place of each row of the plan whose id is there, otherwise None.
    """

    store: Path
    places: tuple[OldRow | None, ...]


@dataclass(frozen=True)
class ShardPlan:
    """The rows of one shard, in corpus order, including rows that failed in the reader.

    Attributes:
        number: the number of the shard.
        n_rows: the number of rows.
        name: the name of the shard in messages: its first and last id.
        packed: the rows, compressed.
        columns: the kinds of the corpus's own columns by name, equal for all shards.
        known: the key with the contents of recordings, if that is known from their sizes and times.
        failed: the reasons of rows that are failures for this run, by number.
        unread: the numbers of those of them whose recordings are not even read for the key of the shard.
        old: the shard with the same key in the store that is replaced, if there is one.
        old_rows: its unchanged rows in that store, if there are some and the shard has changed.
    """

    number: int
    n_rows: int
    name: str
    packed: PackedRows
    columns: Mapping[str, str]
    known: str = ""
    failed: Mapping[int, str] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()
    old: OldShard | None = None
    old_rows: OldRows | None = None

    @property
    def rows(self) -> tuple[PlannedUtterance | Failure, ...]:
        """The rows, decompressed."""
        return self.with_failed(self.packed.rows())

    def with_failed(self, rows: tuple[PlannedUtterance | Failure, ...]) -> tuple[PlannedUtterance | Failure, ...]:
        """Return the packed rows, of which some are failures for this run."""
        return tuple(_failed(row, self.failed[n]) if n in self.failed else row for n, row in enumerate(rows))

    def key(self, settings_sha256: str) -> str:
        """Return the key of the shard: the SHA-256 of what determines its contents, apart from those of recordings."""
        return json_sha256([dict(self.columns), self.packed.sha256, settings_sha256])

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """The id of each row, and its place in the corpus."""
        return ((_id(row), _where(row)) for row in self.rows)

    def has_places_of(self, failures: Iterable[Mapping[str, str]]) -> bool:
        """Return whether failed rows of a shard with this key are still where they were in the corpus."""
        failed = {(failure["id"], failure["where"]) for failure in failures}
        return not failed or failed <= {*self.places}

    def without(self, number: int, reason: str) -> ShardPlan:
        """Return the plan, with the same key, in which one row is a failure.

        Most such recordings can be read, and only not decoded, so that their contents remain in the key of the made
        shard. The recording of a row that is a failure already is not read either.

        Args:
            number: the number of the row in the shard.
        """
        if number in self.failed:
            return replace(self, unread=self.unread | {number})
        return replace(self, failed={**self.failed, number: reason})


def plan_shards(items: Iterable[SourceUtterance | Failure], root: Path, config: StoreConfig) -> Iterator[ShardPlan]:
    """Distribute the rows of a corpus over shards, and yield the plan of each.

    A row whose id is repeated becomes a failure that names both rows.

    Args:
        root: the folder of relative audio paths.

    Raises:
        CorpusError: a column of the corpus has a reserved name, or both texts and numbers.
    """
    # Filled while the rows are iterated; shared by all plans.
    columns: dict[str, str] = {}
    rows = _planned(_with_kinds(_unique(items), columns), root)
    for number, group in enumerate(shards_by_ids(_weighed(rows, config), _unit(config))):
        yield ShardPlan(number, len(group), f"{_id(group[0])} to {_id(group[-1])}", PackedRows.of(group), columns)


def _failed(row: PlannedUtterance | Failure, reason: str) -> Failure:
    if isinstance(row, Failure):
        return row
    return Failure(row.utterance.id, row.utterance.where, "audio", f"{row.utterance.audio}: {reason}")


def _id(row: PlannedUtterance | Failure) -> str:
    return row.id if isinstance(row, Failure) else row.utterance.id


def _where(row: PlannedUtterance | Failure) -> str:
    return row.where if isinstance(row, Failure) else row.utterance.where


def _place(row: PlannedUtterance | Failure) -> dict[str, str]:
    """Return the fields of a row that say where it is in the corpus."""
    return {} if isinstance(row, Failure) else {"where": row.utterance.where, "lists_at": row.utterance.lists_at}


def _fields(utterance: SourceUtterance) -> dict[str, Any]:
    """Return the fields of an utterance for JSON, in which a missing number is null, and an infinite one a list."""
    fields = vars(utterance)
    if any(isinstance(value, float) and not math.isfinite(value) for value in utterance.meta.values()):
        fields = {**fields, "meta": {name: _packed(value) for name, value in utterance.meta.items()}}
    return fields


def _packed(value: str | float) -> object:
    if isinstance(value, str) or math.isfinite(value):
        return value
    return None if math.isnan(value) else [str(value)]


def _unpacked(fields: Mapping[str, Any]) -> SourceUtterance:
    meta = {
        name: math.nan if value is None else float(value[0]) if isinstance(value, list) else value
        for name, value in fields["meta"].items()
    }
    return SourceUtterance(**{**fields, "meta": meta})


def _unique(items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
    first: dict[str, str] = {}
    for item in items:
        if fault := _fault(item):
            where = _escaped(item.where)
            yield Failure.of_row(_escaped(item.id), where, fault)
            continue
        if isinstance(item, SourceUtterance):
            earlier = first.setdefault(item.id, item.where)
            if earlier is not item.where:
                reason = f"the id '{item.id}' is already used in {earlier}; only that row is used"
                yield Failure.of_row(item.id, item.where, reason)
                continue
        yield item


def _fault(item: SourceUtterance | Failure) -> str:
    """Return what a store cannot hold of a row: texts without UTF-8; empty if there is nothing."""
    values = [*vars(item).values()]
    for pair in getattr(item, "meta", {}).items():
        values += pair
    try:
        "".join([value for value in values if isinstance(value, str)]).encode("utf-8")
    except UnicodeEncodeError:
        return "contains a lone surrogate, which is no character"
    return ""


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _with_kinds(
    rows: Iterable[SourceUtterance | Failure], kinds: dict[str, str]
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows, and collect the kinds of the corpus's own columns."""
    for row in rows:
        if isinstance(row, SourceUtterance):
            for name, value in row.meta.items():
                kind = NUMBER if isinstance(value, (int, float)) else CATEGORY
                if name in FIXED_COLUMNS:
                    raise CorpusError(f"{row.where}: the column name '{name}' is reserved by the format")
                if kinds.setdefault(name, kind) != kind:
                    raise CorpusError(f"{row.where}: column '{name}' is a {kind} here, a {kinds[name]} before")
        yield row


def _planned(rows: Iterable[SourceUtterance | Failure], root: Path) -> Iterator[PlannedUtterance | Failure]:
    for row in rows:
        yield row if isinstance(row, Failure) else PlannedUtterance(row, *row_version(root, row))


def _bytes_of(row: PlannedUtterance | Failure) -> int:
    """Return the size of the recording of a row."""
    if isinstance(row, Failure):
        return 0
    return max(0, size_inside(row.utterance.inside) if row.utterance.inside else row.size)


def _recording(row: PlannedUtterance | Failure) -> tuple[str, str] | None:
    return None if isinstance(row, Failure) else (row.utterance.audio, row.utterance.inside)


def _unit(config: StoreConfig) -> int:
    """Return the weight of a shard of the configured size."""
    return config.shard_utterances * config.shard_bytes


def _weighed(
    rows: Iterable[PlannedUtterance | Failure], config: StoreConfig
) -> Iterator[WeighedRow[PlannedUtterance | Failure]]:
    """Yield the rows with their shares of a shard: of its utterances or of its bytes, whichever is more."""
    recording = None
    for row in rows:
        # Excerpts of one recording are read together, so its size counts once.
        found = _recording(row)
        size = 0 if found and found == recording else _bytes_of(row)
        recording = found or recording
        yield WeighedRow(row, _id(row), max(config.shard_bytes, size * config.shard_utterances))


def size_and_time(folder: Path, name: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and when it was modified in nanoseconds; −1 and 0 of a folder or nothing."""
    try:
        # Asked three times for each recording of a corpus: a Path would take twice as long.
        status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
    except (OSError, ValueError):
        return -1, 0
    return (-1, 0) if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_mtime_ns)


def row_version(root: Path, row: SourceUtterance) -> tuple[int, int]:
    """Return what `size_and_time` returns of the recording of a row; −1 and 0 if one is missing.

    Of several, the sum of their sizes, and a number that is another if any size or time is, or their order.
    """
    if not row.then:
        return size_and_time(root, row.audio)
    found = [size_and_time(root, piece.audio) for _, piece in row.pieces]
    if (-1, 0) in found:
        return -1, 0
    return sum(size for size, _ in found), int(text_sha256(repr(found))[:15], 16)


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
