"""The plan: which utterance goes to which shard, a function of corpus and configuration alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tts_prep.errors import CorpusError
from tts_prep.format.checksum import json_sha256
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER
from tts_prep.preprocess.configuration import StoreConfig
from tts_prep.preprocess.corpora.utterance import Failure, Utterance


@dataclass(frozen=True)
class PlannedUtterance:
    """An utterance with the size of its recording at planning time, in bytes; −1 where there is none."""

    utterance: Utterance
    size: int


@dataclass(frozen=True)
class ShardPlan:
    """The rows of one shard, in corpus order; rows that failed in the reader are passed on in their place.

    Attributes:
        number: of the shard.
        rows: what to make.
        columns: the corpus's own columns and their kinds, the same for all shards.
    """

    number: int
    rows: tuple[PlannedUtterance | Failure, ...]
    columns: Mapping[str, str]

    def key(self, settings: Mapping[str, Any]) -> str:
        """Return the SHA-256 of all that the shard's contents depend on."""
        rows = [
            [row.id, row.where, row.stage, row.reason]
            if isinstance(row, Failure)
            else [
                *(row.utterance.id, row.utterance.text, row.utterance.audio, row.utterance.where),
                *(row.utterance.speaker, dict(row.utterance.meta), row.size),
                *(row.utterance.normalized, row.utterance.start, row.utterance.end),
            ]
            for row in self.rows
        ]
        return json_sha256([self.number, dict(self.columns), rows, settings])


def make_plan(items: Iterable[Utterance | Failure], root: Path, config: StoreConfig) -> list[ShardPlan]:
    """Distribute the rows of a corpus over shards.

    A row whose id another row already has becomes a failure that names both.

    Args:
        root: what relative audio paths are relative to.

    Raises:
        CorpusError: a column of the corpus has a name that the format uses, or texts and numbers.
    """
    rows = list(_unique(items))
    columns = _column_kinds(row for row in rows if isinstance(row, Utterance))
    plans = []
    for number, group in enumerate(_groups(rows, root, config)):
        plans.append(ShardPlan(number, tuple(group), columns))
    return plans


def _unique(items: Iterable[Utterance | Failure]) -> Iterator[Utterance | Failure]:
    first: dict[str, str] = {}
    for item in items:
        if not _is_text(item):
            yield Failure("", _escaped(item.where), "corpus", f"{_escaped(item.where)}: holds half a surrogate pair")
            continue
        if isinstance(item, Utterance):
            earlier = first.setdefault(item.id, item.where)
            if earlier is not item.where:
                reason = f"{item.where}: the id '{item.id}' already stands in {earlier}, and only that row is used"
                yield Failure(item.id, item.where, "corpus", reason)
                continue
        yield item


def _is_text(item: Utterance | Failure) -> bool:
    """Return whether all texts of a row can be written as UTF-8."""
    values = [*vars(item).values(), *getattr(item, "meta", {}).items()]
    try:
        json_sha256([value for value in values if isinstance(value, str | tuple)])
    except UnicodeEncodeError:
        return False
    return True


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _column_kinds(utterances: Iterable[Utterance]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for utterance in utterances:
        for name, value in utterance.meta.items():
            kind = NUMBER if isinstance(value, (int, float)) else CATEGORY
            if name in FIXED_COLUMNS:
                raise CorpusError(f"{utterance.where}: a corpus may not name a column '{name}', the store has its own")
            if kinds.setdefault(name, kind) != kind:
                raise CorpusError(f"{utterance.where}: column '{name}' is a {kind} here, a {kinds[name]} before")
    return kinds


def _groups(
    rows: Sequence[Utterance | Failure], root: Path, config: StoreConfig
) -> Iterator[list[PlannedUtterance | Failure]]:
    group: list[PlannedUtterance | Failure] = []
    size = 0
    recording = ""
    for row in rows:
        if isinstance(row, Failure):
            group.append(row)
        else:
            planned = PlannedUtterance(row, recording_size(root / row.audio))
            # Parts of one recording are read together, so it counts once.
            if row.audio != recording or not group:
                size += max(0, planned.size)
            recording = row.audio
            group.append(planned)
        if len(group) >= config.shard_utterances or size >= config.shard_bytes:
            yield group
            group, size = [], 0
    if group:
        yield group


def recording_size(path: Path) -> int:
    """Return the size of a recording in bytes, −1 where there is none."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return -1


def first_rows(items: Iterable[Utterance | Failure], limit: int | None) -> Iterator[Utterance | Failure]:
    """Yield the first ``limit`` rows, or all of them."""
    return itertools.islice(items, limit)
