"""Format-aware mutations of stores, which must be refused or read.

    python tests/format/mutations.py COUNT [SEED]

Every mutation changes values or bytes of one or two files, with checksums that hold or do not. Then everything that
reads a store is done. What comes out is a `TtsPrepError` or nothing; how long it took and how much memory is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory import peak_memory
from stores import edit_manifest, make_rows, sealed, sealed_manifest, write_store

from tts_prep.errors import CorruptStoreError, TtsPrepError
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.contents.shard import FindLocations
from tts_prep.format.files.checksums import bytes_crc32
from tts_prep.format.hdf5.datasets import Locations
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import read_failures
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.records.store_plan import write_plan
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset, collate
from tts_prep.verification.files import verify_store

N_FRAMES = [7, 3, 9, 4, 5]
KEYS = ("key 0", "key 1")
SPECS = (
    ArraySpec("pitch", "float32", (), "frame"),
    ArraySpec("tokens", "int16", (2,), "own", rate=50.0),
    ArraySpec("vector", "float32", (4,), "utterance"),
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    1 << 15,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    1 << 47,
    1 << 60,
    1 << 62,
    (1 << 63) - 1,
    10**400,
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, *NUMBERS, -(1 << 63), 1e308, -1e308, 0.5, float("nan"), float("inf"), "", "..", "/", "O"),
    *("float32", "<i4", "|S8", "../x", "shards/00000.h5", "\0", "1.99", "\ud800", "\x1b[2J", "\u202e", "x" * 5000),
    *([], {}, [[]], [1, 2, 3], [-1], {"a": 1}, [None] * 50),
)


def make_store(path: Path) -> Path:
    """Write a store with all types of files."""
    rows = make_rows(N_FRAMES)
    write_store(path, rows, waveform=True, configuration={"text": {"ood_texts": "x"}}, failures=2)
    for spec in SPECS:
        for number, chosen in enumerate((rows[:3], rows[3:])):
            shape = {"frame": lambda row: (len(row.mel),), "own": lambda _: (3, 2), "utterance": lambda _: (4,)}[
                spec.axis
            ]
            values = [make_array(shape(row), spec.dtype) for row in chosen]
            speakers = [row.speaker for row in chosen]
            lengths = {"frame": [len(row.mel) for row in chosen]}
            write_array_file(path, spec, ShardRows(number, KEYS[number], speakers, lengths), "key", values)
    texts = ["One.", "Two é."]
    from tts_prep.ood.making import write_ood_texts

    write_ood_texts(path / "ood.h5", "key", texts, texts, [make_array((n,), "int32") for n in (3, 5)], [])
    write_plan(path, KEYS, [spec.name for spec in SPECS])
    reindex_store(path)
    return path


def make_array(shape: tuple[int, ...], dtype: str) -> Any:
    import numpy as np

    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3).astype(dtype)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in items for place in places(child, (*path, key)))]


def mutate_json(value: Any, rng: random.Random) -> Any:
    """Set, remove, copy or repeat some values of a JSON value."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = places(value)[1:]
        if not found:
            break
        path = rng.choice(found)
        parent = value
        for key in path[:-1]:
            parent = parent[key]
        how = rng.choice(("set", "set", "set", "remove", "copy", "near"))
        old = parent[path[-1]]
        if how == "remove":
            del parent[path[-1]]
        elif how == "copy":
            other = value
            for key in rng.choice(found):
                other = other[key]
            parent[path[-1]] = json.loads(json.dumps(other))
        elif how == "near" and isinstance(old, int | float):
            parent[path[-1]] = old + rng.choice((-1, 1, 8, 4096, -4096))
        else:
            parent[path[-1]] = json.loads(json.dumps(rng.choice(VALUES)))
    return value


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, truncate, repeat or insert bytes, rather in datasets than in the gaps between them."""
    changed = bytearray(data)
    filled = [i for i in range(0, len(data), 16) if data[i : i + 16].strip(b"\0")] or [0]
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.choice(filled) + rng.randrange(16)
        how = rng.choice(("bits", "bits", "piece", "ones", "zeros", "number", "copy", "cut", "more"))
        if how == "bits" and place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        elif how == "piece":
            piece = rng.randbytes(rng.randint(1, 8))
            changed[place : place + len(piece)] = piece
        elif how in ("ones", "zeros"):
            changed[place : place + 8] = (b"\xff" if how == "ones" else b"\0") * 8
        elif how == "number":
            number = rng.choice(NUMBERS[:-1])
            width = rng.choice((2, 4, 8))
            changed[place : place + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
        elif how == "copy":
            other = rng.choice(filled)
            changed[place : place + 64] = data[other : other + 64]
        elif how == "cut":
            del changed[rng.choice(filled) :]
        else:
            changed += rng.randbytes(rng.randint(1, 5000))
    return bytes(changed)


def mutate_header(path: Path, rng: random.Random) -> None:
    """Change the JSON of a header in place, and update its checksum."""
    place = read_locations(path)["header"]
    data = bytearray(path.read_bytes())
    old = data[place.offset : place.offset + place.size]
    new = json.dumps(mutate_json(json.loads(bytes(old).rstrip(b"\0")), rng)).encode()[: place.size]
    data[place.offset : place.offset + place.size] = new.ljust(place.size, b"\0")
    path.write_bytes(bytes(data))
    seals = read_locations(path)["checksums"]
    values = json.loads(bytes(data[seals.offset : seals.offset + seals.size]).rstrip(b"\0"))
    values["header"] = bytes_crc32(path, place.offset, place.size)
    text = json.dumps(values, separators=(",", ":")).encode()[: seals.size].ljust(seals.size, b"\0")
    data[seals.offset : seals.offset + seals.size] = text
    path.write_bytes(bytes(data))


def mutate_dataset(path: Path, rng: random.Random) -> None:
    """Change numbers of a dataset in place."""
    locations = [place for place in read_locations(path).values() if place.size and place.dtype.kind != "S"]
    place = rng.choice(locations)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 5))):
        width = place.dtype.itemsize
        start = place.offset + width * rng.randrange(place.size // width)
        number = rng.choice((*NUMBERS[:-1], rng.randrange(1 << 8 * width)))
        data[start : start + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
    path.write_bytes(bytes(data))


def mutate(store: Path, rng: random.Random) -> str:
    """Change a store; return a description of the change."""
    files = sorted(path for path in store.rglob("*") if path.is_file())
    path = rng.choice((*files, store / "manifest.json", store / "manifest.json", store / "index.h5"))
    name = str(path.relative_to(store))
    careful = rng.random() < 0.6
    if name == "manifest.json" and rng.random() < 0.7:
        value = mutate_json(json.loads(path.read_text(encoding="utf-8")), rng)
        path.write_bytes(sealed_manifest(value) if careful else json.dumps(value).encode())
        return f"values of {name}, {'careful' if careful else 'careless'}"
    if path.suffix == ".h5":
        how = rng.choice(("bytes", "dataset") if name == "index.h5" else ("bytes", "dataset", "header"))
        if how == "bytes":
            path.write_bytes(mutate_bytes(path.read_bytes(), rng))
        elif how == "dataset":
            mutate_dataset(path, rng)
        else:
            mutate_header(path, rng)
    elif path.suffix in (".json", ".jsonl") and rng.random() < 0.6:
        how = "values"
        lines = path.read_text(encoding="utf-8").split("\n") if path.suffix == ".jsonl" else [path.read_text("utf-8")]
        number = rng.randrange(max(1, len(lines) - 1))
        lines[number] = json.dumps(mutate_json(json.loads(lines[number]), rng))
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        how = "bytes"
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))
    if careful and name != "manifest.json":
        if path.suffix == ".h5":
            path.write_bytes(sealed(path.read_bytes()))
        manifest_follows(store, name)
    return f"{how} of {name}, {'careful' if careful else 'careless'}"


def manifest_follows(store: Path, name: str) -> None:
    """Update the manifest for a changed file: its size, checksums and offsets of datasets."""
    import hashlib

    path = store / name

    def change(value: Any) -> None:
        entries = [value[key] for key in ("index", "failures", "plan_file", "ood_texts") if key in value]
        entries += value["shards"] + [entry for files in value["array_files"].values() for entry in files]
        for entry in entries:
            if entry["file"] == name:
                entry.update(size=path.stat().st_size, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
        for place in value["datasets"].get(name, {}).values():
            length = 1
            for n in place["shape"]:
                length *= n
            place["crc32"] = bytes_crc32(path, place["offset"], length * int(place["dtype"][2:]))

    try_edit(store, change)


def try_edit(store: Path, change: Any) -> None:
    # Where the manifest itself is what was changed, it may have no such keys.
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):
        edit_manifest(store, change)


def read(store: Path) -> None:
    """Read everything."""
    dataset = UtteranceDataset(store)
    for utterance in dataset:
        for values in utterance.arrays.values():
            # The values may be those of the mutation: infinities of both signs have no sum.
            with np.errstate(all="ignore"):
                values.sum()
    collate(dataset)
    for name in dataset.columns:
        list(dataset.columns[name])
    for name, spec in dataset.arrays.items():
        if spec.added:
            dataset.statistics(name)
    for text in dataset.ood_texts or ():
        text.phonemes.sum()
    list(read_failures(store, read_manifest(store).failures.rows))


def verify(store: Path, find: FindLocations) -> None:
    """Verify all files, and raise the first fault."""
    for fault in [fault for _, fault in verify_store(store, find=find) if fault]:
        raise CorruptStoreError(fault)


class FindChanged:
    """Finds the datasets of HDF5 files that have changed in the other process, and remembers those of the others.

    Args:
        find: finds the datasets of a file in the other process.
        whole: the bytes of the files before any change.
    """

    def __init__(self, find: FindLocations, whole: Mapping[Path, bytes]) -> None:
        self._find = find
        self._whole = whole
        self._known = {path: find(path) for path in whole if path.suffix == ".h5"}

    def __call__(self, path: Path) -> Locations:
        if path in self._known and path.is_file() and path.read_bytes() == self._whole[path]:
            return self._known[path]
        return self._find(path)


def use(store: Path, find: FindLocations, rng: random.Random) -> list[str]:
    """Call everything that reads a store; return the refusals."""
    refused = []
    actions = [lambda: read(store), lambda: verify(store, find)]
    if rng.random() < 0.25:
        actions.append(lambda: [reindex_store(store, find=find), read(store)])
    for action in actions:
        try:
            action()
        except TtsPrepError as error:
            line = str(error)
            assert line, "an empty message"
            assert len(line) <= 1000, f"a message of {len(line):,} characters"
            assert line.isprintable(), f"a message that a terminal would act on: {line!r}"
            refused.append(line)
    return refused


def main(count: int, seed: int, folder: Path) -> None:
    bad: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    refused = 0
    slowest = (0.0, "")
    start = time.monotonic()
    store = make_store(folder / "store")
    whole = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    with hdf5_process() as find_any:
        find = FindChanged(find_any, whole)
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            for path, data in whole.items():
                if not path.is_file() or path.stat().st_size != len(data) or path.read_bytes() != data:
                    path.write_bytes(data)
            what = mutate(store, rng)
            kinds[what.rpartition(", ")[0]] += 1
            begun = time.process_time()
            try:
                refused += bool(use(store, find, rng))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                bad[f"{what}: {type(error).__name__}"] += 1
                print(f"{seed} {number} {what}", flush=True)
                traceback.print_exc()
            took = time.process_time() - begun
            slowest = max(slowest, (took, f"{number} {what}"))
            if (number + 1) % 200 == 0:
                peak = peak_memory() >> 20
                wall = time.monotonic() - start
                print(
                    f"{number + 1:,} mutations, {refused:,} refused, {sum(bad.values())} bad, "
                    f"slowest {slowest[0]:.2f} s ({slowest[1]}), peak {peak} MiB, {wall:.0f} s",
                    flush=True,
                )
    print(json.dumps(dict(kinds.most_common()), indent=1))
    print(json.dumps({"mutations": count, "seed": seed, "refused": refused, "bad": bad, "slowest": slowest}))
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as place:
        main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(place))
