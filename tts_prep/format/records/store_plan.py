"""``plan.json``: the keys of all shards, also of a store that has no manifest yet."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import Record, check_version, parse_json
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.checksums import json_sha256, text_sha256
from tts_prep.format.files.paths import read_text, stored_file
from tts_prep.format.layout import PLAN, PLAN_FORMAT, version_text

_MAX_BYTES = 1 << 28


@dataclass(frozen=True)
class StorePlan:
    """The shards and arrays that a store will have, known before its first shard is made.

    Attributes:
        shards: the key of every shard, in order.
        arrays: the names of the added arrays, sorted.
    """

    shards: tuple[str, ...]
    arrays: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """SHA-256 of the shard keys: the value of ``plan`` in the manifest."""
        return plan_sha256(self.shards)


def plan_sha256(keys: Iterable[str]) -> str:
    """Return the SHA-256 of all shard keys, each followed by a newline."""
    return text_sha256("".join(f"{key}\n" for key in keys))


def write_plan(store: Path, keys: Sequence[str], arrays: Iterable[str] = ()) -> None:
    """Write ``plan.json`` atomically, unless it exists with the same contents.

    A run calls this when the plan is complete, before it makes the first shard. A command that adds an array calls it
    after writing the files of the array.

    Args:
        keys: the keys of all shards, in order.
        arrays: the names of the added arrays.
    """
    value = {"format": PLAN_FORMAT, "version": version_text(), "shards": list(keys), "arrays": sorted(arrays)}
    text = json.dumps({**value, "checksum": json_sha256(value)}, indent=1) + "\n"
    path = store / PLAN
    if path.is_file() and path.stat().st_size == len(text) and path.read_bytes() == text.encode():
        return
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def read_plan(store: Path) -> StorePlan | None:
    """Read ``plan.json``; return None if there is none.

    Raises:
        CorruptStoreError: it is broken.
    """
    path = store / PLAN
    if not path.is_symlink() and not path.exists():
        return None
    value = parse_json(path, read_text(stored_file(store, PLAN), _MAX_BYTES))
    record = Record(path, value)
    if record.text("format") != PLAN_FORMAT:
        raise record.fault("format", f"'{PLAN_FORMAT}'")
    check_version(path, record.values.get("version"))
    plan = StorePlan(tuple(record.texts("shards")), tuple(record.texts("arrays")))
    checksum = json_sha256({key: item for key, item in value.items() if key != "checksum"})
    if record.text("checksum") != checksum:
        raise CorruptStoreError(f"{path}: SHA-256 {checksum[:12]}…, its own checksum differs; remove the file")
    return plan
