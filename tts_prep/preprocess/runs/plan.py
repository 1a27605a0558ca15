"""The plan: which utterance goes to which shard, a function of corpus and configuration alone."""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tts_prep.errors import CorpusError
from tts_prep.format.checksums import canonical_json, json_sha256
from tts_prep.format.layout import CATEGORY, FIXED_COLUMNS, NUMBER
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.recordings import size_inside


@dataclass(frozen=True)
class PlannedUtterance:
    """An utterance with the size of its recording at planning time, in bytes; −1 where there is none."""

    utterance: Utterance
    size: int


@dataclass(frozen=True)
class ShardPlan:
    """The rows of one shard, in corpus order; rows that failed in the reader are passed on in their place.

    The rows are packed: a plan of a million utterances stays in memory while shards are made.

    Attributes:
        number: of the shard.
        n_rows: how many rows it has.
        name: of the shard in messages: its first and last id.
        packed: the rows.
        sha256: of the rows, as they were planned.
        columns: the corpus's own columns and their kinds, the same for all shards.
    """

    number: int
    n_rows: int
    name: str
    packed: bytes
    sha256: str
    columns: Mapping[str, str]

    @property
    def rows(self) -> tuple[PlannedUtterance | Failure, ...]:
        """What to make."""
        return tuple(
            Failure(**row) if size is None else PlannedUtterance(Utterance(**row), size)
            for row, size in json.loads(zlib.decompress(self.packed))
        )

    def key(self, settings_sha256: str) -> str:
        """Return the SHA-256 of all that the shard's contents depend on, from that of the settings."""
        return json_sha256([self.number, dict(self.columns), self.sha256, settings_sha256])

    def without(self, number: int, reason: str) -> ShardPlan:
        """Return the same shard, with the same key, less one row, which becomes a failure.

        Args:
            number: of the row within the shard.
        """
        rows = list(self.rows)
        row = rows[number]
        if isinstance(row, PlannedUtterance):
            rows[number] = Failure(row.utterance.id, row.utterance.where, "audio", f"{row.utterance.audio}: {reason}")
        return replace(self, packed=_pack(rows)[0])


def make_plan(items: Iterable[Utterance | Failure], root: Path, config: StoreConfig) -> list[ShardPlan]:
    """Distribute the rows of a corpus over shards.

    A row whose id another row already has becomes a failure that names both.

    Args:
        root: what relative audio paths are relative to.

    Raises:
        CorpusError: a column of the corpus has a name that the format uses, or texts and numbers.
    """
    # Filled while the rows go by; all plans share it.
    columns: dict[str, str] = {}
    return [
        ShardPlan(number, len(group), f"{_id(group[0])} to {_id(group[-1])}", *_pack(group), columns)
        for number, group in enumerate(_groups(_with_kinds(_unique(items), columns), root, config))
    ]


def _id(row: PlannedUtterance | Failure) -> str:
    return row.id if isinstance(row, Failure) else row.utterance.id


def _pack(rows: Sequence[PlannedUtterance | Failure]) -> tuple[bytes, str]:
    """Return rows in few bytes, and the SHA-256 of what they say."""
    values = [(vars(row), None) if isinstance(row, Failure) else (vars(row.utterance), row.size) for row in rows]
    text = canonical_json(values).encode()
    # The fastest level does nearly all that the slower ones do.
    return zlib.compress(text, 1), hashlib.sha256(text).hexdigest()


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


def _with_kinds(rows: Iterable[Utterance | Failure], kinds: dict[str, str]) -> Iterator[Utterance | Failure]:
    """Pass rows on, and note the kinds of the corpus's own columns."""
    for row in rows:
        if isinstance(row, Utterance):
            for name, value in row.meta.items():
                kind = NUMBER if isinstance(value, (int, float)) else CATEGORY
                if name in FIXED_COLUMNS:
                    raise CorpusError(f"{row.where}: a corpus may not name a column '{name}', the store has its own")
                if kinds.setdefault(name, kind) != kind:
                    raise CorpusError(f"{row.where}: column '{name}' is a {kind} here, a {kinds[name]} before")
        yield row


def _groups(
    rows: Iterable[Utterance | Failure], root: Path, config: StoreConfig
) -> Iterator[list[PlannedUtterance | Failure]]:
    group: list[PlannedUtterance | Failure] = []
    size = 0
    recording = ("", "")
    for row in rows:
        if isinstance(row, Failure):
            group.append(row)
        else:
            planned = PlannedUtterance(row, recording_size(root / row.audio))
            # Parts of one recording are read together, so it counts once.
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
    """Return the size of a recording in bytes, −1 where there is none."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return -1


def first_rows(items: Iterable[Utterance | Failure], limit: int | None) -> Iterator[Utterance | Failure]:
    """Yield the first ``limit`` rows, or all of them."""
    return itertools.islice(items, limit)
