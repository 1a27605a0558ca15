"""Mutate lists and imported arrays of every kind, and read them: ``python tests/fuzz_lists.py SEED COUNT``.

Each is read or refused with a `TtsPrepError`; anything else ends the program with a traceback that names the mutation.
Processes in which libraries read the files are counted with this one.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import gzip
import io
import json
import resource
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from asian_corpora import write_aishell3, write_baker, write_css10, write_jsut, write_kss
from corpora import KALDI, write_kaldi, write_libritts, write_ljspeech, write_vctk
from fuzzing import mutated
from memory import peak_memory

from tts_prep.corpora.manifests.reader import read_manifest
from tts_prep.errors import ConfigurationError, TtsPrepError
from tts_prep.format.records.failures import Failure
from tts_prep.imports.alignment_files import read_durations
from tts_prep.imports.arrays import ImportedArray
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.plan.shard_plans import plan_shards
from tts_prep.preprocess.source_utterance import SourceUtterance, open_recording

SLOWEST = 5.0  # seconds
MOST_MEMORY = 1 << 30  # bytes
ROWS = [
    {
        "id": f"u{i}",
        "audio": f"{i}.wav",
        "text": f"Text {i}, é.",
        "speaker": i % 2,
        "mos": 3.5 if i else None,
        "start": 0.1,
    }
    for i in range(6)
]
VALUES = (
    *(
        None,
        True,
        -1,
        10**400,
        1e308,
        -1e308,
        float("nan"),
        float("inf"),
        "",
        " ",
        "\0",
        "\ud800",
        "x" * 300,
        "9" * 500,
    ),
    *([], {}, [["a"]], {"a": {}}, "../../etc/passwd", "/dev/zero", "1:30:00.5", "\u2028", "\x1b[2J", "a\nb", 2**63),
)

Use = Callable[[Path], object]


def read_list(path: Path) -> int:
    """Read a manifest, plan its shards, and open its first recordings; return the number of utterances."""
    return plan(islice(read_manifest(path.parent, [path.name]), 5000), path.parent)


def reader_of(name: str, file: str = "") -> Use:
    def read(path: Path) -> int:
        items, root = read_corpus(name, path.parent / file)
        return plan(islice(items, 5000), root)

    return read


def plan(items: Any, root: Path) -> int:
    plans = list(plan_shards(items, root, StoreConfig()))
    rows = [row for plan in plans for row in plan.rows]
    for row in rows[:4]:
        item = getattr(row, "utterance", None)
        if isinstance(item, SourceUtterance) and item.inside:
            # `tts_prep.preprocess.audio.reading` makes failed rows of these.
            with contextlib.suppress(OSError, ValueError), open_recording(root / item.audio, item.inside):
                pass
    return sum(not isinstance(row, Failure) for row in rows)


def read_array(path: Path) -> int:
    array = ImportedArray.of("x", path if path.suffix in (".npz", ".h5") else path.parent)
    for name in ("a", "b"):
        array.source(name, "")
        array.compute(SimpleNamespace(id=name))  # type: ignore[arg-type]
    return 1


def tar(kind: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
        for i in range(3):
            for name, data in ((f"{i}.wav", b"RIFF" * 30), (f"{i}.json", json.dumps(ROWS[i]).encode())):
                info = tarfile.TarInfo("folder/" * (40 * (i == 1)) + name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def tar_checked(data: bytes) -> bytes:
    """Correct the checksums of headers, so that their contents are read."""
    changed = bytearray(data)
    for start in range(0, len(changed) - 511, 512):
        header = changed[start : start + 512]
        if header[257:262] == b"ustar":
            header[148:156] = b"        "
            changed[start + 148 : start + 156] = b"%06o\0 " % sum(header)
    return bytes(changed)


def table(kind: str) -> bytes:
    file = io.BytesIO()
    columns: dict[str, Any] = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    if kind != "paths":
        columns["audio"] = [{"bytes": b"RIFF" * 20 * i or None, "path": f"{i}.wav"} for i in range(6)]
        columns["codes"] = [[i, 2] for i in range(6)]
    data = pa.table(columns)
    if kind in ("paths", "bytes"):
        pq.write_table(data, file, row_group_size=4, compression="snappy" if kind == "bytes" else "none")
    else:
        with (pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file)(file, data.schema) as writer:
            writer.write_table(data)
    return file.getvalue()


def lhotse() -> bytes:
    recording = {"id": "r", "sources": [{"type": "file", "channels": [0, 1], "source": "0.wav"}], "duration": 2.0}
    supervision = {"id": "s", "start": 0.1, "duration": 0.5, "channel": 0, "text": "One.", "custom": {"mos": 3}}
    cut = {"id": "c", "start": 0.0, "duration": 1.0, "channel": 0, "type": "MonoCut", "recording": recording}
    cuts = [
        {**cut, "id": f"c{i}", "supervisions": [{**supervision, "id": f"s{j}"} for j in range(i)]} for i in range(4)
    ]
    return b"".join(json.dumps(value).encode() + b"\n" for value in cuts)


def arrays() -> dict[str, bytes]:
    values = {"a": np.arange(6, dtype="f4").reshape(3, 2), "b": np.ones((2, 2), "f4")}
    files = {name: io.BytesIO() for name in ("npy", "npz", "packed.npz", "h5", "chunked.h5")}
    np.save(files["npy"], values["a"])
    np.savez(files["npz"], **values)
    np.savez_compressed(files["packed.npz"], **values)
    for name, options in (("h5", {}), ("chunked.h5", {"chunks": (1, 2), "compression": "gzip"})):
        with h5py.File(files[name], "w") as file:
            for key, array in values.items():
                file.create_dataset(key, data=array, **options)
    return {name: file.getvalue() for name, file in files.items()}


def originals(folder: Path) -> list[tuple[Path, bytes, Use]]:
    """Return paths of files with their contents and the function that reads each; the files around them exist."""
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    fields = [list(ROWS[0]), *([str(value or "") for value in row.values()] for row in ROWS)]
    tables = {".csv": ",", ".tsv": "\t", ".psv": "|", ".txt": ";"}
    lists: dict[str, bytes] = {"a.jsonl": lines, "b.jsonl.gz": gzip.compress(lines), "cuts.jsonl": lhotse()}
    for suffix, separator in tables.items():
        quoted = ('"{}"' if separator in ",;" else "{}").format
        text = "".join(separator.join(map(quoted, row)) + "\n" for row in fields)
        lists[f"t{suffix}"] = text.encode()
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        lists[f"{kind}.tar"] = (
            tar(kind) if kind != tarfile.USTAR_FORMAT else tar(tarfile.GNU_FORMAT)[:3072] + bytes(1024)
        )
    lists |= {f"{kind}.parquet": table(kind) for kind in ("paths", "bytes")}
    lists |= {f"{kind}.arrow": table(kind) for kind in ("stream", "file")}
    found: list[tuple[Path, bytes, Use]] = []
    for name, data in lists.items():
        place = folder / f"list-{name}"
        place.mkdir()
        found += [(place / name, data, read_list)] * 3
    for name, data in arrays().items():
        place = folder / f"array-{name}"
        place.mkdir()
        found += [(place / (f"a.{name}" if name != "npy" else "a.npy"), data, read_array)] * 2
    for name, text in (("d.txt", b"1 2 3 4"), ("d.csv", b"0.1,0.2,0.3"), ("d.npy", arrays()["npy"])):
        found += [(folder / name, text, read_durations)]
    return found + readers(folder)


def readers(folder: Path) -> list[tuple[Path, bytes, Use]]:
    """Return the lists of every reader of a corpus."""
    writers: dict[str, Callable[[Path], object]] = {
        "ljspeech": write_ljspeech,
        "vctk": write_vctk,
        "libritts": write_libritts,
        "kaldi": lambda root: write_kaldi(root, KALDI),
        "baker": write_baker,
        "aishell3": write_aishell3,
        "jsut": write_jsut,
        "kss": write_kss,
        "css10": write_css10,
    }
    found: list[tuple[Path, bytes, Use]] = []
    for name, write in writers.items():
        write(folder / name)
        for path in sorted((folder / name).rglob("*")):
            if path.is_file() and path.suffix not in (".wav", ".flac", ".mp3", ".ogg") and path.stat().st_size < 20_000:
                depth = len(path.relative_to(folder / name).parts) - 1
                found.append((path, path.read_bytes(), reader_of(name, "/".join([".."] * depth))))
    (folder / "filelist").mkdir()
    text = "".join(f"wavs/{row['id']}.wav|{row['text']}|{row['speaker']}\n" for row in ROWS).encode()
    return [*found, (folder / "filelist/list.txt", text, reader_of("filelist", "list.txt"))]


def with_values(data: bytes, rng: np.random.Generator) -> bytes:
    """Return lines of JSON with other values in some rows."""
    rows = [json.loads(line) for line in data.splitlines()]
    for _ in range(int(rng.integers(1, 4))):
        target = rows[int(rng.integers(len(rows)))]
        while True:
            keys = list(target) if isinstance(target, dict) else list(range(len(target)))
            key = keys[int(rng.integers(len(keys)))] if keys else None
            if key is not None and isinstance(target[key], dict | list) and target[key] and rng.random() < 0.7:
                target = target[key]
                continue
            break
        # A copy, because a later change may go into it.
        value = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
        if isinstance(target, dict) and rng.random() < 0.15:
            target["\ud800" if rng.random() < 0.2 else f"new {rng.integers(99)}"] = value
        elif key is not None:
            target[key] = value
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def changed(path: Path, data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a file with changes that its format understands, or with any."""
    if path.suffix == ".jsonl" and rng.random() < 0.5:
        return with_values(data, rng)
    if path.suffix == ".gz" and rng.random() < 0.5:
        return gzip.compress(mutated(gzip.decompress(data), others, rng), 1)
    data = mutated(data, others, rng)
    return tar_checked(data) if path.suffix == ".tar" and rng.random() < 0.8 else data


def memory() -> int:
    """Return the highest memory of this process and of those that have ended, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    return max(peak_memory(), children)


Change = Callable[[Path, bytes, list[bytes], np.random.Generator], bytes]


def fuzz(
    seed: int, count: int, files_of: Callable[[Path], list[tuple[Path, bytes, Use]]], change: Change
) -> dict[str, Any]:
    """Read mutated files; return counts, the maximum time and the memory.

    Args:
        files_of: fills a folder, and returns paths of files with their contents and the function that reads each.
        change: returns changed contents.
    """
    used: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as name:
        files = files_of(Path(name))
        others = [data for _, data, _ in files if data]
        for path, data, _ in files:
            path.write_bytes(data)
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            path, data, use = files[int(rng.integers(len(files)))]
            # Archives are kept open by their paths.
            target = path.with_name(f"{number}.{path.name}") if path.suffix in (".npz", ".h5") else path
            target.write_bytes(change(path, data, others, rng))
            faulthandler.dump_traceback_later(120, exit=True)
            start = time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            try:
                found = use(target)
                used["read" if np.size(found) else "refused"] += 1
            except TtsPrepError as error:
                # The command line makes one line of a message about settings, which quotes the names of columns.
                text = " ".join(str(error).split()) if isinstance(error, ConfigurationError) else str(error)
                if "\n" in text or (len(text) > 4000 and not isinstance(error, ConfigurationError)):
                    raise AssertionError(f"mutation {seed}, {number}, {path.name}: {error}") from error
                used["crashed" if "crashes the" in str(error) else "refused"] += 1
            except BaseException as error:
                raise AssertionError(f"mutation {seed}, {number}, {path.name}: {error!r}") from error
            end = time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            slowest = max(slowest, end - start)
            if end - start > 2 * SLOWEST:  # a process that is ended at its limit is asked twice
                raise AssertionError(f"mutation {seed}, {number}, {path.name}: {end - start:.1f} s")
            if target != path:
                target.unlink()
            else:
                path.write_bytes(data)
        shutil.rmtree(name, ignore_errors=True)
        Path(name).mkdir()
    faulthandler.cancel_dump_traceback_later()
    if memory() > MOST_MEMORY:
        raise AssertionError(f"seed {seed}: {memory():,} bytes of memory at its highest")
    return {**used, "slowest": slowest, "memory": memory()}


if __name__ == "__main__":
    print(json.dumps(fuzz(int(sys.argv[1]), int(sys.argv[2]), originals, changed)))
