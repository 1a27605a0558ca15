"""Files of one ``id value`` a line, as Kaldi and SpeeChain have them, and a store as such files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tts_prep.errors import ConfigurationError
from tts_prep.format.atomic import replacing
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader.dataset.columns import CategoryValues
from tts_prep.loader.dataset.utterances import UtteranceDataset

FEATURES = "feat.scp"
_NAMES = {"speaker": "utt2spk", "gender": "utt2gen"}


def read_table(path: str | Path) -> dict[str, str]:
    """Read a file of ``id value`` lines; the value goes to the end of the line, and may be empty.

    Raises:
        ConfigurationError: the file cannot be read, or an id stands twice.
    """
    table: dict[str, str] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        uid, _, value = line.strip().partition(" ")
        if uid in table:
            raise ConfigurationError(f"{path}:{number}: the id '{uid}' stands twice")
        table[uid] = value.strip()
    return table


def read_tables(paths: Sequence[str]) -> dict[str, str]:
    """Read several files into one table, in their order.

    Raises:
        ConfigurationError: a file cannot be read, or two of them say different things of one id.
    """
    table: dict[str, str] = {}
    source: dict[str, str] = {}
    for path in paths:
        for uid, value in read_table(path).items():
            if table.setdefault(uid, value) != value:
                raise ConfigurationError(f"'{uid}' stands in {source[uid]} and, with another value, in {path}")
            source.setdefault(uid, path)
    return table


def store_entry(store: Path, row: int) -> str:
    """Return the value in ``feat.scp`` that stands for a row of a store."""
    return f"{store}:{row}"


def parse_store_entry(value: str) -> tuple[str, int] | None:
    """Return store and row of a value in ``feat.scp``, or None where it is a path of another kind."""
    store, colon, row = value.rpartition(":")
    return (store, int(row)) if colon and row.isdecimal() and row.isascii() else None


def export_scp(store: str | Path, folder: str | Path) -> list[Path]:
    """Write ``feat.scp``, ``text``, ``utt2spk`` and one file for each other column of a corpus; return their paths.

    Lines are sorted by id. A store is named relative to the folder, so both can be moved together.

    Raises:
        ConfigurationError: an id or the folder cannot be written so.
        StoreError: there is no whole store.
    """
    dataset = UtteranceDataset(store)
    ids = list(dataset.id)
    for uid in ids:
        if not uid or any(character.isspace() for character in uid):
            raise ConfigurationError(
                f"{dataset.path}: the id {uid!r} has white space, which files of 'id value' cannot"
            )
    target = Path(folder)
    base = Path(os.path.relpath(dataset.path, target))
    tables: dict[str, Iterable[str]] = {
        FEATURES: (store_entry(base, row) for row in range(len(ids))),
        "text": (" ".join(text.split()) for text in dataset.text),
        "phoneme_text": (" ".join(text.split()) for text in dataset.phoneme_text),
        "utt2num_frames": (str(n) for n in dataset.n_frames.tolist()),
    }
    for name in dataset.columns:
        if name == "speaker" or name not in FIXED_COLUMNS:
            tables[_NAMES.get(name, f"utt2{name}")] = _values(dataset, name)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return [_write_table(target / name, ids, values) for name, values in tables.items()]
    except OSError as error:
        raise ConfigurationError(f"{target}: cannot be written ({error.strerror})") from error


def _values(dataset: UtteranceDataset, name: str) -> Iterator[str]:
    values = dataset.column(name)
    if isinstance(values, CategoryValues):
        return (" ".join(value.split()) for value in values)
    return (str(value) for value in values)


def _write_table(path: Path, ids: Sequence[str], values: Iterable[str]) -> Path:
    lines = sorted(zip(ids, values, strict=True))
    with replacing(path) as partial:
        partial.write_text("".join(f"{uid} {value}\n" for uid, value in lines), encoding="utf-8")
    return path
