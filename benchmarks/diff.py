"""Compare stores of very many utterances, one of which has planted changes of ten kinds.

    python benchmarks/diff.py --utterances 1000000 [--folder benchmarks/output/diff]

Prints what `tts-prep diff` finds of each pair, and how long it takes at what peak of memory. Mels have two frames: how
long they are makes no difference where keys and checksums tell.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

WORK = Path(__file__).resolve().parent / "output"
SETTINGS = {"audio": {"fmax": 8000}, "text": {"frontend": "characters"}}
WORDS = {"lexicon": [["nguyen", "n", None]]}


def write(folder: Path, n: int) -> None:
    from stores import Row, _write_files, edit_manifest, make_rows

    few = make_rows([2] * 1000)
    rows = [
        replace(few[i % 1000], id=f"{i:09d}", text=f"text {i}", key=hashlib.sha256(b"%d" % i).digest())
        for i in range(n)
    ]

    def other(row: Row) -> bytes:
        return hashlib.sha256(row.key).digest()

    planted, step = [*rows], n // 40
    for kind in range(9):
        for place in range(kind * step, kind * step + 5):
            row = rows[place]
            changes = {
                0: {"mel": row.mel + 1, "key": other(row)},
                1: {"key": other(row)},
                2: {"text": f"other {place}", "key": other(row)},
                3: {"speaker": "new", "key": other(row)},
                4: {"gender": "x", "key": other(row)},
                5: {"id": f"new {place}", "key": other(row)},
                6: {"seconds": row.seconds + 1, "key": other(row)},
                7: {"mel": row.mel + 1, "text": f"other {place}", "key": other(row)},
                8: {"phoneme_text": "n", "key": other(row)},
            }
            planted[place] = replace(row, **changes[kind])
    for place in range(8 * step, 8 * step + 5):
        rows[place] = replace(rows[place], text="Nguyen")
        planted[place] = replace(planted[place], text="Nguyen")
    lexicon = {**SETTINGS, "text": {**SETTINGS["text"], **WORDS}}
    library = [replace(row, mel=row.mel + (i in (7, n - 7))) for i, row in enumerate(rows)]
    stores = {
        "one": (rows, SETTINGS, "2.1"),
        "few": (planted[: 8 * step] + rows[8 * step :], SETTINGS, "2.1"),
        "planted": (planted, lexicon, "2.1"),
        "settings": (rows, {**SETTINGS, "audio": {"fmax": 7600}}, "2.1"),
        "library": (library, SETTINGS, "2.2"),
    }
    for name, (of_store, settings, version) in stores.items():
        if not (folder / name / "manifest.json").exists():
            (folder / name / "shards/001").mkdir(parents=True)
            _write_files(folder / name, of_store, -(-n // 1000), False, settings, 0)
            edit_manifest(folder / name, lambda manifest, numpy=version: manifest.update(software={"numpy": numpy}))


def measure(first: Path, second: Path) -> None:
    """Compare two stores, and print a row of the table."""
    from memory import peak_memory

    from tts_prep.diff.stores import compare_stores
    from tts_prep.loader.dataset.store import Store

    start = time.perf_counter()
    found = compare_stores(Store(first), Store(second))
    seconds = time.perf_counter() - start
    rows = {cause: len(ids) for cause, ids in found.rows.items()}
    others = {
        name: len(getattr(found, name)) for name in ("settings", "versions", "only_first", "only_second", "columns")
    }
    print(f"| {second.name} | {seconds:.1f} s | {peak_memory() / 1e9:.2f} GB | {rows}, {others} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare stores of very many utterances.")
    parser.add_argument("--utterances", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=WORK / "diff")
    parser.add_argument("--measure", type=Path, nargs=2, help="compare two stores that are there already")
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    write(options.folder, options.utterances)
    for name in ("one", "few", "planted", "settings", "library"):
        pair = [options.folder / "one", options.folder / name]
        # In a process of its own, whose peak is not that of the others.
        subprocess.run([sys.executable, __file__, "--measure", *pair], check=True)


if __name__ == "__main__":
    main()
