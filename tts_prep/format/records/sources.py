"""``sources.json``: which versions of recordings a copy of a store was made from, so that the others are read again.

It is about this copy of the store and the files beside it, not about the contents of the store: no manifest names it,
and a store without it has the same values. It also has the command that made the store, so that it can be compared with
its sources.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import StoreError, WriteError
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.atomic import keep_contents, writing
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.paths import read_text, stored_file
from tts_prep.format.layout import SOURCES, SOURCES_FORMAT, version_text
from tts_prep.format.records.arrays import ArraySpec

_MAX_BYTES: Final = 1 << 28
_FOLDER: Final = "inode"
_STEM: Final = Path(SOURCES).stem


@dataclass(frozen=True)
class IncompleteArray:
    """An array of an old store that has no values for some rows of the new one.

    Attributes:
        rows: the number of rows without values.
        is_kept: the array is in the new store, with NaN, empty texts or no values in these rows; otherwise it was left
            out.
        columns: those that it holds and that have no values in some of these rows, and in how many.
    """

    spec: ArraySpec
    rows: int
    is_kept: bool
    columns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sources:
    """What a copy of a store was made from.

    Attributes:
        shards: planned key of a shard → SHA-256 of the sizes and times of its recordings, and its key.
        incomplete: the arrays of which an update has no values for some rows, until a command has said so: an update
            can be killed after it has replaced the store.
        command: how the command line made the store, as JSON; empty if it did not, or made another copy of it: what
            came from elsewhere with a store is not trusted.
        history: what commands did to the store: the ``time`` of each in UTC, the ``folder`` that it ran in, its
            ``arguments``, and the ``rows`` of the store since.
    """

    shards: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    command: Mapping[str, Any] = field(default_factory=dict)
    incomplete: tuple[IncompleteArray, ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()

    def incomplete_of(self, arrays: Collection[str]) -> tuple[IncompleteArray, ...]:
        """Return the incomplete arrays of a store that has these now: one that was left out can be added again."""
        return tuple(array for array in self.incomplete if array.is_kept == (array.spec.name in arrays))

    def with_shards_of(self, other: Sources) -> Sources:
        """Return the same command with other shards."""
        return replace(self, shards=other.shards)


def write_sources(store: Path, sources: Sources, part: str = "") -> None:
    """Write ``sources.json`` atomically, unless it exists with the same contents, and remove those of parts.

    Args:
        part: the name of a part of the store, which has a file of its own until the store is complete.

    Raises:
        WriteError: the file cannot be written.
    """
    value: dict[str, Any] = {
        "format": SOURCES_FORMAT,
        "version": version_text(),
        "command": {**sources.command, _FOLDER: _folder_number(store)} if sources.command else {},
        "shards": dict(sorted(sources.shards.items())),
    }
    if sources.history:
        value |= {"history": [*sources.history]}
    if sources.incomplete:
        value["incomplete"] = {
            array.spec.name: {**vars(array), "spec": array.spec.as_dict()} for array in sources.incomplete
        }
    text = json.dumps({**value, "checksum": json_sha256(value)}, indent=1) + "\n"
    try:
        keep_contents(store / _name(part), text.encode())
    except WriteError:  # another process, which had the lock, can have taken the temporary file for one that was left
        keep_contents(store / _name(part), text.encode())
    if not part:
        with writing(store):
            for path in _of_parts(store):
                path.unlink()


def sources_of_parts(store: Path) -> Sources:
    """Return what is known of the shards of all parts, and how the last of them was made."""
    found = [_read(store, path.name) for path in _of_parts(store)]
    command = next((of_part.command for of_part in found if of_part.command), {})
    return Sources({key: item for of_part in found for key, item in of_part.shards.items()}, command)


def read_sources(store: Path, part: str = "") -> Sources:
    """Read ``sources.json``; without an intact one nothing is known, and recordings are read again."""
    return _read(store, _name(part))


def _folder_number(store: Path) -> int:
    """Return the number of a folder on its disk, which a copy of it does not have."""
    return store.stat().st_ino


def _name(part: str) -> str:
    return f"{_STEM}-{part}.json" if part else SOURCES


def _of_parts(store: Path) -> list[Path]:
    return sorted(store.glob(f"{_STEM}-*.json"))


def _read(store: Path, name: str) -> Sources:
    with contextlib.suppress(StoreError, OSError):
        path = store / name
        value = parse_json(path, read_text(stored_file(store, name), _MAX_BYTES))
        record = Record(path, value if isinstance(value, dict) else {})
        checksum = json_sha256({key: item for key, item in record.values.items() if key != "checksum"})
        if record.text("format") == SOURCES_FORMAT and record.text("checksum") == checksum:
            shards = {key: Record(path, {"": item}).texts("") for key, item in record.mapping("shards").items()}
            pairs = {key: (item[0], item[1]) for key, item in shards.items() if len(item) == 2}
            command = dict(record.mapping("command"))
            items = record.mapping("incomplete") if "incomplete" in record else {}
            incomplete = tuple(_incomplete(path, name, Record(path, item)) for name, item in items.items())
            is_here = command.pop(_FOLDER, None) == _folder_number(store)
            history = (
                tuple(_checked_line(path, item) for item in record.items("history")) if "history" in record else ()
            )
            return Sources(pairs, command if is_here else {}, incomplete, history)
    return Sources()


def _checked_line(path: Path, item: object) -> Mapping[str, Any]:
    line = Record(path, item)
    texts = {name: line.text(name) for name in ("time", "folder")}
    return {**texts, "arguments": line.texts("arguments"), "rows": line.integer("rows")}


def _incomplete(path: Path, name: str, item: Record) -> IncompleteArray:
    spec = ArraySpec.from_dict(path, name, item.mapping("spec"))
    columns = item.mapping("columns") if "columns" in item else {}
    counts = {column: Record(path, columns).integer(column) for column in columns}
    return IncompleteArray(spec, item.integer("rows"), item.values.get("is_kept") is True, counts)
