"""Small stores with known contents, written with the format package without audio."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tts_prep.errors import CorruptStoreError
from tts_prep.format.assembly import located
from tts_prep.format.contents.index_writer import build_index
from tts_prep.format.contents.shard import HEADER, ShardHeader, header_text
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.hdf5.writer import create_file, write_dataset, write_number, write_string, write_texts
from tts_prep.format.layout import CATEGORY, FAILURES, INDEX, MANIFEST, PLAN, ROW_KEYS, shard_name
from tts_prep.format.records.manifest import FileEntry, Manifest, write_manifest
from tts_prep.format.records.store_plan import plan_sha256, write_plan
from tts_prep.format.statistics import MelStatistics

N_MELS = 5
HOP_LENGTH = 256
SAMPLE_RATE = 22_050
SYMBOLS = ("<pad>", "a", "b", "c", "é")
SILENCE = tuple(-11.5 - i for i in range(N_MELS))


@dataclass
class Row:
    """The expected contents of an utterance of a store."""

    id: str
    text: str
    phoneme_text: str
    speaker: str
    gender: str
    seconds: float
    mel: npt.NDArray[Any]
    phonemes: npt.NDArray[np.int32]
    waveform: npt.NDArray[Any]
    key: bytes = b""


def make_rows(n_frames: Sequence[int], *, mel_dtype: str = "float32", wav_dtype: str = "int16") -> list[Row]:
    """Create random utterances of given lengths in frames."""
    rng = np.random.default_rng(len(n_frames))
    rows = []
    for i, frames in enumerate(n_frames):
        samples = (frames - 1) * HOP_LENGTH + 17
        phonemes = rng.integers(1, len(SYMBOLS), 1 + frames // 3).astype(np.int32)
        waveform = rng.integers(-32_767, 32_768, samples)
        rows.append(
            Row(
                id=f"LJ{i:03d}-é",
                text=f'He said "{i}".',
                phoneme_text="".join(SYMBOLS[k] for k in phonemes),
                speaker=("ljspeech", "zoë", "p225")[i % 3],
                gender="fm"[i % 2],
                seconds=samples / SAMPLE_RATE,
                mel=rng.normal(size=(frames, N_MELS)).astype(mel_dtype),
                phonemes=phonemes,
                waveform=(waveform if wav_dtype == "int16" else waveform / 32_768).astype(wav_dtype),
            )
        )
    return rows


def _statistics(mel: np.ndarray) -> dict[str, Any]:
    frames = mel.astype(np.float64)
    mean = frames.mean(axis=0)
    return MelStatistics(len(frames), mean, ((frames - mean) ** 2).sum(axis=0)).as_dict()


def _mel_statistics(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the statistics over all frames, computed by numpy."""
    frames = np.concatenate([np.zeros((0, N_MELS)), *(row.mel.astype(np.float64) for row in rows)])
    if not len(frames):
        return {"count": 0, "mean": [0.0] * N_MELS, "std": [1.0] * N_MELS}
    return {"count": len(frames), "mean": frames.mean(0).tolist(), "std": frames.std(0).tolist()}


_MAX_STORES, _MAX_BYTES = 100, 1 << 20
_stores: dict[bytes, dict[Path, bytes]] = {}


def write_store(
    path: Path,
    rows: Sequence[Row],
    *,
    n_shards: int = 2,
    waveform: bool = False,
    configuration: dict[str, Any] | None = None,
    failures: int = 0,
) -> Path:
    """Write rows to a store of several shards, in order, and return its path.

    The files of small stores are kept in memory, because many tests write the same ones.
    """
    (path / "shards").mkdir(parents=True)
    options = (n_shards, waveform, configuration, failures)
    key = hashlib.sha256(pickle.dumps((rows, options))).digest()
    if key not in _stores:
        _write_files(path, rows, *options)
        if sum(file.stat().st_size for file in path.rglob("*")) < _MAX_BYTES:
            if len(_stores) == _MAX_STORES:
                del _stores[next(iter(_stores))]
            _stores[key] = {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        return path
    for name, data in _stores[key].items():
        (path / name).write_bytes(data)
    return path


def _write_files(
    path: Path,
    rows: Sequence[Row],
    n_shards: int,
    waveform: bool,
    configuration: dict[str, Any] | None,
    failures: int,
) -> None:
    arrays: dict[str, dict[str, Any]] = {
        "mel": {
            "dtype": str(rows[0].mel.dtype) if rows else "float32",
            "row_shape": [N_MELS],
            "sample_rate": SAMPLE_RATE,
            "hop_length": HOP_LENGTH,
            "silence": list(SILENCE),
            "axis": "frame",
        },
        "phonemes": {"dtype": "int32", "row_shape": [], "axis": "phoneme"},
    }
    if waveform:
        arrays["waveform"] = {"dtype": str(rows[0].waveform.dtype), "row_shape": [], "axis": "sample"}
    vocabulary = {"symbols": list(SYMBOLS), "pad": 0}
    shards = []
    for number, part in enumerate(np.array_split(np.arange(len(rows)), n_shards)):
        shard = path / shard_name(number)
        shards.append(shard)
        statistics = {
            speaker: _statistics(np.concatenate([rows[i].mel for i in part if rows[i].speaker == speaker]))
            for speaker in sorted({rows[i].speaker for i in part})
        }
        left_out = {"id": "", "where": "list:1", "stage": "text", "reason": "no text"}
        header = ShardHeader(
            f"key {number}",
            configuration or {},
            {},
            arrays,
            vocabulary,
            len(part),
            0.0,
            statistics,
            (left_out,) * failures,
        )
        _write_shard(shard, [rows[i] for i in part], header)
    write_failures = path / FAILURES
    write_failures.write_text("", encoding="utf-8")
    build_index(path, shards)
    keys = [f"key {number}" for number in range(n_shards)]
    write_plan(path, keys)
    sizes = [len(part) for part in np.array_split(np.arange(len(rows)), n_shards)]
    write_manifest(
        path,
        Manifest(
            configuration=configuration or {},
            fingerprint="f" * 64,
            plan=plan_sha256(keys),
            software={},
            arrays=arrays,
            vocabulary=vocabulary,
            speakers=tuple(sorted({row.speaker for row in rows})),
            mel_statistics=_mel_statistics(rows),
            totals={},
            shards=tuple(_entry(path, shard_name(i), count) for i, count in enumerate(sizes)),
            index=_entry(path, INDEX, len(rows)),
            failures=_entry(path, FAILURES, 0),
            plan_file=_entry(path, PLAN, n_shards),
            datasets={INDEX: located(path / INDEX)},
        ),
    )


def _entry(store: Path, file: str, rows: int) -> FileEntry:
    return FileEntry(file, (store / file).stat().st_size, rows, file_sha256(store / file))


def _write_shard(path: Path, rows: Sequence[Row], header: ShardHeader) -> None:
    with create_file(path) as file:
        write_string(file, HEADER, header_text(header))
        columns = file.create_group("columns")
        for name, length, empty in (
            ("mel", "n_frames", np.empty((0, N_MELS), header.arrays["mel"]["dtype"])),
            ("phonemes", "n_phonemes", np.empty(0, np.int32)),
            ("waveform", "n_samples", np.empty(0, np.int16)),
        ):
            if name not in header.arrays:
                continue
            parts = [getattr(row, name) for row in rows]
            write_dataset(file, name, np.concatenate(parts) if parts else empty)
            lengths = [len(part) for part in parts]
            write_number(columns, f"{name}_start", np.cumsum([0, *lengths])[:-1], "<i8")
            write_number(columns, length, lengths, "<i4")
        if rows and rows[0].key:
            keys = np.frombuffer(b"".join(row.key for row in rows), np.uint8)
            write_dataset(file, ROW_KEYS, keys.reshape(len(rows), -1))
        write_number(columns, "seconds", [row.seconds for row in rows], "<f8")
        write_number(columns, "pitch", [100.0 + i for i in range(len(rows))], "<f8")
        for name in ("id", "text", "phoneme_text"):
            write_texts(columns, name, [getattr(row, name) for row in rows])
        for name in ("speaker", "gender"):
            write_texts(columns, name, [getattr(row, name) for row in rows], CATEGORY)


def edit_manifest(store: Path, change: Callable[[Any], object]) -> None:
    """Change the values of a manifest, and update its checksum."""
    path = store / MANIFEST
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_bytes(sealed_manifest(value))


def sealed_manifest(value: Any) -> bytes:
    """Return a manifest with the given values and a valid checksum, as bytes."""
    text = json.dumps({**value, "checksum": "0" * 64} if isinstance(value, dict) else value)
    head, zeros, tail = text.rpartition("0" * 64)
    return f"{head}{hashlib.sha256(text.encode()).hexdigest() if zeros else ''}{tail}".encode()


def seal_again(store: Path) -> None:
    """Update a manifest for changed files, with valid checksums."""

    def change(manifest: Any) -> None:
        entries = [manifest[key] for key in ("index", "failures", "plan_file", "ood_texts") if key in manifest]
        entries += manifest["shards"]
        entries += [entry for files in manifest.get("array_files", {}).values() for entry in files]
        for entry in entries:
            path = store / entry["file"]
            if path.suffix == ".h5":
                path.write_bytes(sealed(path.read_bytes()))
            entry.update(size=path.stat().st_size, sha256=file_sha256(path))
        with contextlib.suppress(CorruptStoreError):
            manifest["datasets"][INDEX] = {name: p.as_dict() for name, p in located(store / INDEX).items()}

    edit_manifest(store, change)


def sealed(data: bytes) -> bytes:
    """Return the bytes of an HDF5 file with a valid seal."""
    start = b"tts-prep SHA-256 "
    body = data[:-82] if data[-82:].startswith(start) else data
    return body + start + hashlib.sha256(body).hexdigest().encode() + b"\n"


def write_named_stores(folder: Path) -> Path:
    """Write the stores of the examples in docstrings: eight utterances of two speakers, twice four of two others."""
    others = [30, 50, 70, 90]
    stores = (("store", range(40, 80, 5), "anna ben"), ("other", others, "ben cleo"), ("scored", others, "ben cleo"))
    for name, n_frames, speakers in stores:
        rows = make_rows(list(n_frames))
        for number, row in enumerate(rows):
            row.id, row.speaker = f"utterance-{number}", speakers.split()[number % 2]
        write_store(folder / name, rows, n_shards=1, waveform=name != "scored")
    return folder


def of_room(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a room, for a test of the core: where the room is not installed, the test is skipped."""

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(pytest.importorskip(f"tts_prep.{module}"), name)(*arguments, **options)

    return call
