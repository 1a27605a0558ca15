"""Tables of ``id value`` lines, as in Kaldi and SpeeChain, and their export from a store."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.format.files.atomic import replacing
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader.dataset.columns import CategoryValues, TextValues
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.file_list import read_lines

FEATURES = "feat.scp"
WAVEFORM = ":waveform"
_SEPARATOR = re.compile(r"[ \t]+")
_ARK_ENTRY = re.compile(r"(.+\.ark):([0-9]{1,18})")
_MATRICES: Mapping[bytes, np.dtype[Any]] = {b"\0BFM ": np.dtype("<f4"), b"\0BDM ": np.dtype("<f8")}
_NAMES = {"speaker": "spk", "gender": "gen"}


def read_table(path: str | Path) -> dict[str, str]:
    """Read a file of ``id value`` lines, separated by spaces or tabs. The value is the rest, and may be empty.

    Raises:
        ConfigurationError: the file cannot be read, or an id is repeated.
    """
    table: dict[str, str] = {}
    for number, line in enumerate(read_lines(path, "lines of ids and values"), 1):
        if not line.strip():
            continue
        uid, value = (*_SEPARATOR.split(line.strip(), maxsplit=1), "")[:2]
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


def parse_ark_entry(value: str) -> tuple[str, int] | None:
    """Return file and offset of a value ``FILE.ark:OFFSET`` in Kaldi's ``feats.scp``, or None if it is another one."""
    found = _ARK_ENTRY.fullmatch(value)
    return (found[1], int(found[2])) if found else None


def ark_path(base: Path, file: str) -> Path:
    """Return the path of an archive: relative to the folder of the table, or, as in Kaldi, to the current one."""
    return base / file if (base / file).exists() else Path(file)


def read_ark(path: str | Path, offset: int) -> npt.NDArray[Any]:
    """Read a matrix of a Kaldi archive, [rows, columns] float32 or float64.

    Args:
        offset: the offset of the matrix behind its key, bytes.

    Raises:
        ConfigurationError: the file cannot be read, or has no complete, uncompressed binary matrix of floats there.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            kind, shape = file.read(5), file.read(10)
            if kind not in _MATRICES or len(shape) < 10 or (shape[0], shape[5]) != (4, 4):
                raise ConfigurationError(
                    f"{path}:{offset}: expected a binary matrix of floats, found {kind!r}; compressed and text "
                    "archives are not read: write them with 'copy-feats --compress=false'"
                )
            rows, columns = struct.unpack("<xixi", shape)
            if min(rows, columns) < 0 or rows * columns * _MATRICES[kind].itemsize > size - file.tell():
                raise ConfigurationError(f"{path}:{offset}: the file ends before its {rows} × {columns} values")
            # Not np.fromfile: a test holds that nothing of NumPy reads a file by itself, since some of it unpickles.
            data = bytearray(file.read(rows * columns * _MATRICES[kind].itemsize))
            values: npt.NDArray[Any] = np.frombuffer(data, _MATRICES[kind])
            return values.reshape(rows, columns)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read as a Kaldi archive ({error.strerror})") from error


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
    if isinstance(values, CategoryValues | TextValues):
        return (" ".join(value.split()) for value in values)
    return (str(value) for value in values)


def _write_table(path: Path, ids: Sequence[str], values: Iterable[str]) -> Path:
    lines = sorted(zip(ids, values, strict=True))
    with replacing(path) as partial:
        partial.write_text("".join(f"{uid} {value}\n" for uid, value in lines), encoding="utf-8")
    return path
