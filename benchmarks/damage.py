"""Damage stored arrays at random, and count what each format's reader notices.

    python benchmarks/damage.py [--rounds 600]

Twenty mels with ids are written in each format. In each round one file has a random bit flipped, a random page of 4,096
bytes zeroed, or its end cut off; then everything is read. Needs safetensors, array_record and mosaicml-streaming.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from corpus import require

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

PAGE = 4096
KINDS = ("bit flipped", "page zeroed", "end cut off")
Row = tuple[str, np.ndarray]


def rows() -> list[Row]:
    """Return the id and the mel of each utterance, [n_frames, 5] float32: 600 kB in all."""
    return [(row.id, row.mel) for row in store_rows()]


def store_rows() -> list[Any]:
    from stores import make_rows

    return make_rows(range(1000, 2000, 50))


def write_tts_prep(folder: Path) -> None:
    from stores import write_store

    write_store(folder / "store", store_rows(), n_shards=2)


def read_tts_prep(folder: Path, verify: bool = False) -> Iterator[Row]:
    """Yield ids and mels; where text or phonemes are wrong, no mel."""
    from tts_prep.loader import UtteranceDataset

    for utterance, row in zip(UtteranceDataset(folder / "store", verify=verify), store_rows(), strict=True):
        right = utterance.text == row.text and np.array_equal(utterance.phonemes, row.phonemes)
        yield utterance.id, np.array(utterance.mel) if right else np.empty(0)


def write_safetensors(folder: Path) -> None:
    from safetensors.numpy import save_file

    save_file(dict(rows()), folder / "mels.safetensors")


def read_safetensors(folder: Path) -> Iterator[Row]:
    from safetensors import safe_open

    with safe_open(folder / "mels.safetensors", "numpy") as file:
        for uid in file.keys():  # noqa: SIM118
            yield uid, file.get_tensor(uid)


def write_array_record(folder: Path) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    writer = ArrayRecordWriter(str(folder / "mels.array_record"), "group_size:1")
    for uid, mel in rows():
        writer.write(uid.encode().ljust(20) + mel.tobytes())
    writer.close()


def read_array_record(folder: Path) -> Iterator[Row]:
    from array_record.python.array_record_module import ArrayRecordReader

    reader = ArrayRecordReader(str(folder / "mels.array_record"))
    for record in reader.read_all():
        yield record[:20].rstrip().decode(), np.frombuffer(record[20:], "float32").reshape(-1, 5)
    reader.close()


def write_mds(folder: Path) -> None:
    from streaming import MDSWriter

    columns = {"id": "str", "mel": "ndarray:float32"}
    with MDSWriter(out=str(folder / "mds"), columns=columns, hashes=["xxh64"], size_limit=1 << 19) as writer:
        for uid, mel in rows():
            writer.write({"id": uid, "mel": mel})


def read_mds(folder: Path) -> Iterator[Row]:
    from streaming import LocalDataset

    dataset = LocalDataset(str(folder / "mds"))
    for number in range(len(dataset)):
        yield dataset[number]["id"], dataset[number]["mel"]


def write_sqlite(folder: Path) -> None:
    with sqlite3.connect(folder / "mels.db") as database:
        database.execute("create table mels (id text primary key, mel blob)")
        database.executemany("insert into mels values (?, ?)", [(uid, mel.tobytes()) for uid, mel in rows()])


def read_sqlite(folder: Path, check: bool = False) -> Iterator[Row]:
    with sqlite3.connect(folder / "mels.db") as database:
        if check and database.execute("pragma integrity_check").fetchone() != ("ok",):
            raise ValueError("integrity_check")
        for uid, mel in database.execute("select id, mel from mels"):
            yield uid, np.frombuffer(mel, "float32").reshape(-1, 5)


Reader = Callable[[Path], Iterator[Row]]
READERS: dict[str, tuple[Callable[[Path], None], Reader]] = {
    "tts-prep": (write_tts_prep, read_tts_prep),
    "tts-prep, `verify=True`": (write_tts_prep, lambda folder: read_tts_prep(folder, verify=True)),
    "safetensors": (write_safetensors, read_safetensors),
    "array_record": (write_array_record, read_array_record),
    "MDS": (write_mds, read_mds),
    "SQLite": (write_sqlite, read_sqlite),
    "SQLite, `integrity_check`": (write_sqlite, lambda folder: read_sqlite(folder, check=True)),
}


def damage(folder: Path, choose: random.Random, kind: str) -> None:
    path = choose.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size))
    data = bytearray(path.read_bytes())
    if kind == "bit flipped":
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    elif kind == "page zeroed":
        start = choose.randrange(0, len(data), PAGE)
        data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))
    else:
        del data[choose.randrange(len(data)) :]
    path.write_bytes(data)


def outcome(read: Reader, folder: Path) -> str:
    expected = rows()
    try:
        found = sorted(read(folder))
    except BaseException as error:
        return "refused" if isinstance(error, Exception) else "panic"
    equal = len(found) == len(expected) and all(
        uid == right and np.array_equal(mel, wanted)
        for (uid, mel), (right, wanted) in zip(found, sorted(expected, key=lambda row: row[0]), strict=True)
    )
    return "read right" if equal else "read wrong"


def work(name: str, first: int, rounds: int) -> None:
    """Print the outcome of each round as a line of JSON; a crash ends the process, and the next goes on behind it."""
    write, read = READERS[name]
    with tempfile.TemporaryDirectory() as temporary:
        whole = Path(temporary) / "whole"
        whole.mkdir()
        write(whole)
        assert outcome(read, whole) == "read right", name
        for number in range(first, rounds):
            kind = KINDS[number % len(KINDS)]
            print(json.dumps([number, kind, None]), flush=True)
            folder = Path(temporary) / str(number)
            shutil.copytree(whole, folder)
            damage(folder, random.Random(number), kind)
            print(json.dumps([number, kind, outcome(read, folder)]), flush=True)
            shutil.rmtree(folder)


def measure(name: str, rounds: int) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    first = 0
    while first < rounds:
        command = [sys.executable, __file__, "--worker", name, "--first", str(first), "--rounds", str(rounds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
            text, how = done.stdout, "crashed"
        except subprocess.TimeoutExpired as error:
            text, how = (error.stdout or b"").decode(), "hung"
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
        if not lines:
            raise SystemExit(f"{name}: {done.stderr[-2000:]}")
        for _, kind, result in lines:
            if result is not None:
                counts[kind, result] += 1
        number, kind, result = lines[-1]
        if result is None:
            counts[kind, how] += 1
        first = number + 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--worker")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.first, options.rounds)
        return
    require("safetensors", "array_record", "streaming")
    results = ("refused", "read right", "read wrong", "crashed", "hung", "panic")
    print(
        "| reader | "
        + " | ".join(f"{kind}: {result}" for kind in KINDS for result in results[:3])
        + " | process died |"
    )
    for name in READERS:
        counts = measure(name, options.rounds)
        died = sum(counts[kind, how] for kind in KINDS for how in results[3:])
        print(f"| {name} | " + " | ".join(str(counts[kind, r]) for kind in KINDS for r in results[:3]) + f" | {died} |")


if __name__ == "__main__":
    main()
