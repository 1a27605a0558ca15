"""Plan the shards of a store: a pure function of corpus and configuration."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tts_prep.errors import CorpusChangedError, CorpusError
from tts_prep.format.files.checksums import canonical_json, json_sha256
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.recording_locations import size_inside


@dataclass(frozen=True)
class PlannedUtterance:
    """An utterance with the size of its recording at planning time in bytes; −1 if it does not exist."""

    utterance: SourceUtterance
    size: int

    def check_unchanged(self, root: Path) -> None:
        """Check that the recording has the same size. A failed row instead would persist after it is fixed.

        Raises:
            CorpusChangedError: it has another size, or does not exist any more.
        """
        path = root / self.utterance.audio
        size = recording_size(path)
        if size != self.size:
            now, planned = ("missing" if n < 0 else f"{n:,} bytes" for n in (size, self.size))
            raise CorpusChangedError(
                f"{path}: {now} now, {planned} when the run was planned; do not modify the corpus while a store is "
                "made, run again to resume"
            )


@dataclass(frozen=True)
class PackedRows:
    """Rows compressed, because the plans of a million utterances stay in memory during the run.

    Attributes:
        data: the compressed canonical JSON of the rows.
        sha256: the SHA-256 of that JSON at planning time.
    """

    data: bytes
    sha256: str

    @classmethod
    def of(cls, rows: Sequence[PlannedUtterance | Failure]) -> PackedRows:
        """Compress rows: each is the pair of its fields and the size of its recording, null for a failure."""
        values = [
            (vars(row), None) if isinstance(row, Failure) else (_packable(row.utterance), row.size) for row in rows
        ]
        text = canonical_json(values).encode()
        # The fastest level compresses nearly as well as the slower ones.
        return cls(zlib.compress(text, 1), hashlib.sha256(text).hexdigest())

    def rows(self) -> tuple[PlannedUtterance | Failure, ...]:
        """Return the rows, decompressed."""
        return tuple(
            Failure(**fields) if size is None else PlannedUtterance(_unpacked(fields), size)
            for fields, size in json.loads(zlib.decompress(self.data))
        )


@dataclass(frozen=True)
class ShardPlan:
    """The rows of one shard, in corpus order, including rows that failed in the reader.

    Attributes:
        number: the number of the shard.
        n_rows: the number of rows.
        name: the name of the shard in messages: its first and last id.
        packed: the rows, compressed.
        columns: the kinds of the corpus's own columns by name, equal for all shards.
    """

    number: int
    n_rows: int
    name: str
    packed: PackedRows
    columns: Mapping[str, str]

    @property
    def rows(self) -> tuple[PlannedUtterance | Failure, ...]:
        """The rows, decompressed."""
        return self.packed.rows()

    def key(self, settings_sha256: str) -> str:
        """Return the key of the shard: the SHA-256 of everything that determines its contents."""
        return json_sha256([self.number, dict(self.columns), self.packed.sha256, settings_sha256])

    def without(self, number: int, reason: str) -> ShardPlan:
        """Return the plan, with the same key, in which one row is a failure.

        Args:
            number: the number of the row in the shard.
        """
        rows = list(self.rows)
        row = rows[number]
        if isinstance(row, PlannedUtterance):
            rows[number] = Failure(row.utterance.id, row.utterance.where, "audio", f"{row.utterance.audio}: {reason}")
        return replace(self, packed=replace(PackedRows.of(rows), sha256=self.packed.sha256))


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
    for number, group in enumerate(_groups(_with_kinds(_unique(items), columns), root, config)):
        name = f"{_id(group[0])} to {_id(group[-1])}"
        yield ShardPlan(number, len(group), name, PackedRows.of(group), columns)


def _id(row: PlannedUtterance | Failure) -> str:
    return row.id if isinstance(row, Failure) else row.utterance.id


def _packable(utterance: SourceUtterance) -> dict[str, Any]:
    """Return the fields of an utterance for JSON, in which a missing number, NaN in the columns, is null."""
    fields = vars(utterance)
    if any(value != value for value in utterance.meta.values()):
        fields = {**fields, "meta": {name: value if value == value else None for name, value in utterance.meta.items()}}
    return fields


def _unpacked(fields: Mapping[str, Any]) -> SourceUtterance:
    meta = {name: math.nan if value is None else value for name, value in fields["meta"].items()}
    return SourceUtterance(**{**fields, "meta": meta})


def _unique(items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
    first: dict[str, str] = {}
    for item in items:
        if fault := _fault(item):
            where = _escaped(item.where)
            yield Failure(_escaped(item.id), where, "corpus", f"{where}: {fault}")
            continue
        if isinstance(item, SourceUtterance):
            earlier = first.setdefault(item.id, item.where)
            if earlier is not item.where:
                reason = f"{item.where}: the id '{item.id}' is already used in {earlier}; only that row is used"
                yield Failure(item.id, item.where, "corpus", reason)
                continue
        yield item


def _fault(item: SourceUtterance | Failure) -> str:
    """Return what a store cannot hold of a row: texts without UTF-8, infinite numbers; empty if there is nothing."""
    values = [*vars(item).values()]
    for name, value in getattr(item, "meta", {}).items():
        values += (name, value)
        if isinstance(value, float) and math.isinf(value):
            return f"column '{_escaped(name)}': expected a finite number, found {value}"
    try:
        "".join(value for value in values if isinstance(value, str)).encode("utf-8")
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


def _groups(
    rows: Iterable[SourceUtterance | Failure], root: Path, config: StoreConfig
) -> Iterator[list[PlannedUtterance | Failure]]:
    group: list[PlannedUtterance | Failure] = []
    size = 0
    recording = ("", "")
    for row in rows:
        if isinstance(row, Failure):
            group.append(row)
        else:
            planned = PlannedUtterance(row, recording_size(root / row.audio))
            # Excerpts of one recording are read together, so its size counts once.
            if (row.audio, row.inside) != recording or not group:
                size += max(0, size_inside(row.inside) if row.inside else planned.size)
            recording = (row.audio, row.inside)
            group.append(planned)
        if len(group) >= config.shard_utterances or size >= config.shard_bytes:
            yield group
            group, size = [], 0
    if group:
        yield group


def recording_size(path: Path) -> int:
    """Return the size of a recording in bytes; −1 if it does not exist."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return -1


def first_rows(items: Iterable[SourceUtterance | Failure], limit: int | None) -> Iterator[SourceUtterance | Failure]:
    """Yield the first ``limit`` rows, or all of them."""
    return itertools.islice(items, limit)
