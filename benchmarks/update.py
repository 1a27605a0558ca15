"""What ``--update`` costs after several edits of a corpus, as a share of a build: processor time and bytes written.

The corpus is made from the recordings of another one in LJ Speech's layout: excerpts of three seconds, each different.

    python benchmarks/update.py LJSpeech-1.1 --rows 1000

With --unchanged, no edits are made: medians of rounds, in each of which the recordings of the corpus itself are updated
without a change, their contents are read for keys as a build reads them, and the store is made.

    python benchmarks/update.py LJSpeech-1.1 --unchanged 5
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
from corpus import read_rows

from tts_prep.preprocess import read_corpus
from tts_prep.preprocess.plan.shard_settings import content_of
from tts_prep.preprocess.source_utterance import SourceUtterance

SECONDS = 3.0
KINDS = {
    "mel": (),
    "mel and pitch": ("--feature", "pitch"),
    "mel and measures": ("--waveform", "int16"),
    "mel and tokens": (),
}


@dataclass(frozen=True)
class Utterance:
    """A row of the corpus: its recording is an excerpt of a source."""

    id: str
    text: str
    speaker: str
    source: int
    offset: float


def edits(rows: list[Utterance]) -> dict[str, list[Utterance]]:
    """Return the rows after each edit."""
    middle = len(rows) // 2

    def new(name: str, number: int, speaker: str = "one") -> Utterance:
        return Utterance(name, f"A new text, number {number}.", speaker, number, 0.37 + number * 0.01)

    tenth = len(rows) // 10
    return {
        "nothing": rows,
        "10 % appended": [*rows, *(new(f"Z{number:05d}", number) for number in range(tenth))],
        "one row at the start": [new("A00000", 1), *rows],
        "one row removed": [*rows[:middle], *rows[middle + 1 :]],
        "one text corrected": [*rows[:middle], replace(rows[middle], text="Another text."), *rows[middle + 1 :]],
        "a speaker in the middle": [
            *rows[:middle],
            *(new(f"{rows[middle].id}-{number:03d}", number, "two") for number in range(tenth // 2)),
            *rows[middle:],
        ],
    }


def write_corpus(folder: Path, rows: Sequence[Utterance], sources: Sequence[Path]) -> None:
    """Write the list of a corpus and its recordings that are missing."""
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    (folder / "tokens").mkdir(exist_ok=True)
    for row in rows:
        path = folder / f"wavs/{row.id}.wav"
        if not path.exists():
            samples, rate = soundfile.read(sources[row.source % len(sources)], dtype="int16")
            start = int(row.offset * rate) % max(1, len(samples) - int(SECONDS * rate))
            # Their sizes tell recordings apart.
            soundfile.write(path, samples[start : start + int(SECONDS * rate) + row.source], rate)
            np.save(folder / f"tokens/{row.id}.npy", np.arange(int(SECONDS * 50), dtype=np.int32) + row.source)
    lines = "".join(f"wavs/{row.id}.wav|{row.text}|{row.speaker}\n" for row in rows)
    (folder / "list.txt").write_text(lines, encoding="utf-8")


def processor_seconds(run: Callable[[], object]) -> float:
    """Return the processor time of the processes that a function runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def command(*arguments: object) -> None:
    """Run a command of tts-prep."""
    subprocess.run([sys.executable, "-m", "tts_prep", *map(str, arguments), "-q"], check=True)


def build(kind: str, corpus: Path, store: Path, *, update: bool = False) -> None:
    """Make or update a store."""
    tokens = ("--array", f"tokens={corpus / 'tokens'}") if kind == "mel and tokens" else ()
    options = (*KINDS[kind], *tokens, "--jobs", 1, *(("--update",) if update else ()))
    columns = ("--columns", "path|text|speaker")
    command("filelist", corpus / "list.txt", store, *columns, *options)
    if kind == "mel and measures" and not update:
        command("add", store, "--measures")


def bytes_written(store: Path, before: set[int]) -> int:
    """Return the size of the files of a store that are not those of the old one."""
    files = [path.stat() for path in store.rglob("*") if path.is_file()]
    return sum(file.st_size for file in files if file.st_ino not in before)


def unchanged(corpus: Path, rounds: int) -> dict[str, float]:
    """Return medians of processor seconds: an update of unchanged rows, keys of recordings, and a build."""
    items, root = read_corpus("ljspeech", corpus)
    rows = [row for row in items if isinstance(row, SourceUtterance)]
    found: dict[str, list[float]] = {name: [] for name in ("update", "update_wall", "keys", "build")}
    with tempfile.TemporaryDirectory() as name:
        stores = [Path(name) / f"{number}" for number in range(rounds + 1)]
        make = ("ljspeech", corpus)
        # The first one compiles, and has the files of the corpus read.
        command(*make, stores[0], "--jobs", 1)
        for store in stores[1:]:
            begun = time.perf_counter()
            found["update"].append(processor_seconds(lambda: command(*make, stores[0], "--update", "--jobs", 1)))
            found["update_wall"].append(time.perf_counter() - begun)
            before = sum(os.times()[:2])
            for row in rows:
                content_of(root, row, 22_050)
            found["keys"].append(sum(os.times()[:2]) - before)
            found["build"].append(processor_seconds(lambda store=store: command(*make, store, "--jobs", 1)))  # type: ignore[misc]
            shutil.rmtree(store)
    medians = {name: round(statistics.median(seconds), 3) for name, seconds in found.items()}
    keys = medians["keys"]
    return {
        "rows": len(rows),
        **medians,
        "keys_per_recording_ms": round(1000 * keys / len(rows), 4),
        "build_with_keys_over_without": round(medians["build"] / (medians["build"] - keys), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=[*KINDS])
    parser.add_argument("--unchanged", type=int, metavar="ROUNDS", help="the cost of no edit, and of keys, instead")
    arguments = parser.parse_args()
    if arguments.unchanged:
        print(json.dumps(unchanged(arguments.corpus, arguments.unchanged)))
        return
    sources = [row.path for row in read_rows(arguments.corpus)]
    rows = [
        Utterance(f"M{number:05d}", f"Text number {number}.", "one", number, number * 0.013)
        for number in range(arguments.rows)
    ]
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, old, store = folder / "corpus", folder / "old", folder / "store"
        for kind in arguments.kinds:
            write_corpus(corpus, rows[:1], sources)
            start = processor_seconds(lambda kind=kind: build(kind, corpus, folder / "one"))  # type: ignore[misc]
            shutil.rmtree(folder / "one")
            write_corpus(corpus, rows, sources)
            whole = processor_seconds(lambda kind=kind: build(kind, corpus, old))  # type: ignore[misc]
            size = bytes_written(old, set())
            for edit, edited in edits(rows).items():
                shutil.copytree(old, store)
                write_corpus(corpus, edited, sources)
                before = {path.stat().st_ino for path in store.rglob("*")}
                run = processor_seconds(lambda kind=kind: build(kind, corpus, store, update=True))  # type: ignore[misc]
                changed = len({*edited} - {*rows}) / len(rows)
                written = bytes_written(store, before)
                results.append(
                    {
                        "store": kind,
                        "edit": edit,
                        "changed": changed,
                        "start_seconds": round(start, 2),
                        "build_seconds": round(whole, 2),
                        "update_seconds": round(run, 2),
                        "time_share": round(run / whole, 3),
                        "time_share_after_start": round((run - start) / (whole - start), 3),
                        "bytes_share": round(written / size, 3),
                    }
                )
                print(json.dumps(results[-1]), flush=True)
                shutil.rmtree(store)
            shutil.rmtree(old)


if __name__ == "__main__":
    main()
