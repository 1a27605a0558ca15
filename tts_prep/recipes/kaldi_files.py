"""Tables of ``id value`` lines, as in Kaldi and SpeeChain, and their export from a store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.files.atomic import replacing
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader.dataset.columns import CategoryValues
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.file_list import read_lines

FEATURES = "feat.scp"
WAVEFORM = ":waveform"
_NAMES = {"speaker": "spk", "gender": "gen"}


def read_table(path: str | Path) -> dict[str, str]:
    """Read a file of ``id value`` lines. The value is the rest of the line, and may be empty.

    Raises:
        ConfigurationError: the file cannot be read, or an id is repeated.
    """
    table: dict[str, str] = {}
    for number, line in enumerate(read_lines(path, "lines of ids and values"), 1):
        if not line.strip():
            continue
        uid, _, value = line.strip().partition(" ")
        if uid in table:
            raise ConfigurationError(f"{path}:{number}: the id '{uid}' is repeated")
        table[uid] = value.strip()
    return table


def read_tables(paths: Sequence[str]) -> dict[str, str]:
    """Read several files into one table, in order.

    Raises:
        ConfigurationError: a file cannot be read, or two of them have different values for an id.
    """
    table: dict[str, str] = {}
    source: dict[str, str] = {}
    for path in paths:
        for uid, value in read_table(path).items():
            if table.setdefault(uid, value) != value:
                raise ConfigurationError(f"'{uid}' has different values in {source[uid]} and {path}")
            source.setdefault(uid, path)
    return table


def store_entry(store: Path, row: int) -> str:
    """Return the value in ``feat.scp`` that refers to a row of a store."""
    return f"{store}:{row}"


def parse_store_entry(value: str) -> tuple[str, int] | None:
    """Return store and row of a value in ``feat.scp``, or None if it is another kind of path."""
    store, colon, row = value.rpartition(":")
    return (store, int(row)) if colon and row.isdecimal() and row.isascii() else None


def export_scp(store: str | Path, folder: str | Path, speechain: bool = False) -> list[Path]:
    """Write ``feat.scp``, ``text``, ``utt2spk`` and one file for each further column of a corpus; return their paths.

    Lines are sorted by id. The path of the store is relative to the folder, so that both can be moved together. A
    column whose file would have the name of another file, such as ``num_frames``, gets ``utt2corpus_num_frames``.

    Args:
        store: the store.
        folder: made where missing.
        speechain: write the names of SpeeChain's recipes instead: ``idx2feat``, ``idx2wav`` where the store has
            waveforms, both with ``…_len``, ``idx2text``, ``idx2spk``, ``idx2gen`` and so on.

    Raises:
        ConfigurationError: an id contains white space.
        StoreError: there is no complete store, or the folder cannot be written.
    """
    dataset = UtteranceDataset(store)
    ids = list(dataset.id)
    for uid in ids:
        if not uid or any(character.isspace() for character in uid):
            raise ConfigurationError(
                f"{dataset.path}: the id {uid!r} contains white space, which files of 'id value' lines do not allow"
            )
    target = Path(folder)
    base = Path(os.path.relpath(dataset.path, target))
    entries = [store_entry(base, row) for row in range(len(ids))]
    tables = _tables(dataset, entries, speechain)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return [_write_table(target / name, ids, values) for name, values in tables.items()]
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror})") from error


def _tables(dataset: UtteranceDataset, entries: Sequence[str], speechain: bool) -> dict[str, Iterable[str]]:
    """Return the values of each file, by the names of Kaldi's or SpeeChain's recipes.

    Args:
        entries: the place of each mel in the store.
    """
    prefix, features = ("idx2", "idx2feat") if speechain else ("utt2", FEATURES)
    tables: dict[str, Iterable[str]] = {
        features: entries,
        "idx2text" if speechain else "text": (" ".join(text.split()) for text in dataset.text),
        "idx2phoneme_text" if speechain else "phoneme_text": (" ".join(text.split()) for text in dataset.phoneme_text),
        "idx2feat_len" if speechain else "utt2num_frames": (str(n) for n in dataset.n_frames.tolist()),
    }
    if speechain and dataset.metadata.has_waveform:
        tables["idx2wav"] = (entry + WAVEFORM for entry in entries)
        tables["idx2wav_len"] = (str(n) for n in dataset.n_samples.tolist())
    columns = [name for name in dataset.columns if name == "speaker" or name not in FIXED_COLUMNS]
    # The columns with names of Kaldi or SpeeChain first: a column "spk" may not take the name of the speakers' file.
    for name in sorted(columns, key=lambda name: name not in _NAMES):
        table = prefix + _NAMES.get(name, name)
        while table in tables:
            table = f"{prefix}corpus_{table.removeprefix(prefix)}"
        tables[table] = _values(dataset, name)
    return tables


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
