"""Time epochs of each recipe as ``tts-prep recipes NAME`` prints it, without torch's workers and with two.

    python benchmarks/recipe_epochs.py CORPUS [--only NAME ...] [--epochs 5] [--result recipes]

CORPUS is in LJ Speech's layout. The printed commands make each store below ``benchmarks/output/``, once, and the
printed code makes the dataset; its loader then has batches of 16 and the workers. The first epoch reads the store into
memory and is left out of the seconds. Processor time is that of all epochs with that of the workers, an epoch. torch
computes with one thread.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import resource
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

from corpus import require
from results import Result, describe_machine

WORK = Path(__file__).resolve().parent / "output"
NAMES = ("hifigan", "bigvgan", "vocos", "vits", "piper", "matcha", "f5-tts")
WORKERS = (0, 2)
_LOADER = re.compile(
    r"^(?:loader = |batch\w* = next\(iter\()(\w+\(.*)batch_size=\d+(?:, num_workers=0)?(.*?\))(?:\)\))?$", re.MULTILINE
)


def made(name: str, corpus: Path, folder: Path, **files: Path) -> Callable[..., Any]:
    """Run what is printed for a recipe in a folder, and return a function: how batches are made → its loader.

    Args:
        files: what the commands name in capitals besides the corpus.
    """
    printed = subprocess.run([sys.executable, "-m", "tts_prep", "recipes", name], stdout=subprocess.PIPE, text=True)
    commands, _, code = printed.stdout.partition("\n\n")
    for line in commands.splitlines():
        if line.startswith("tts-prep ") and not (folder / "store/manifest.json").exists():
            # The texts of synthesise.py are not those of its audio, and durations cost the same wherever they lie.
            places = {"CORPUS": corpus, "durations": "durations:least=0", **files}
            command = [str(places.get(part, part)) for part in shlex.split(line, comments=True)[1:]]
            subprocess.run([sys.executable, "-m", "tts_prep", *command], cwd=folder, check=True, stdout=sys.stderr)
    found = _LOADER.search(code)
    if not found:
        sys.exit(f"recipe_epochs.py: {name}: expected a loader with batch_size in what is printed")
    # What comes behind takes a batch from it.
    code = f"{code[: found.start()]}made = lambda **given: {found[1]}**given{found[2]}"
    names: dict[str, Any] = {}
    exec(code, names)  # what this version prints
    result: Callable[..., Any] = names["made"]
    return result


def processor() -> float:
    """Return the processor seconds of this process, of its children that have ended, and of living workers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    files = [Path(f"/proc/{worker.pid}/stat") for worker in multiprocessing.active_children()]
    # The fields behind the name, which may have spaces: user and system time are the 12th and 13th of them.
    cells = [file.read_text().rpartition(")")[2].split() for file in files if file.exists()]
    ticks = sum(int(of[11]) + int(of[12]) for of in cells)
    return sum(one.ru_utime + one.ru_stime for one in used) + ticks / os.sysconf("SC_CLK_TCK")


def epochs(loader: Any, n: int) -> tuple[float, float, int]:
    """Return median seconds of an epoch, processor seconds an epoch, and the number of batches."""
    before, seconds, batches = processor(), [], 0
    for _ in range(n):
        started = time.perf_counter()
        batches = sum(1 for _ in loader)
        seconds.append(time.perf_counter() - started)
    # Its workers end here, so that their time is known.
    iterator, loader._iterator = loader._iterator, None
    del iterator
    return statistics.median(seconds[1:]), (processor() - before) / n, batches


def main() -> None:
    parser = argparse.ArgumentParser(description="Time epochs of recipes.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=NAMES)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    require("torch")
    import torch

    torch.set_num_threads(1)
    rows, measured, corpus = [], {}, options.corpus.resolve()
    for name in options.only:
        folder = WORK / f"recipes-{corpus.name}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        # The printed code has paths in the folder in which it is run.
        os.chdir(folder)
        loaders = made(name, corpus, folder)
        given = [{"num_workers": n, "persistent_workers": n > 0} for n in WORKERS]
        found = [epochs(loaders(batch_size=16, **more), options.epochs) for more in given]
        measured |= {f"{name}, {n} workers": row[0] for n, row in zip(WORKERS, found, strict=True)}
        rows.append([name, f"{found[0][2]:,}", *(f"{value:.2f}" for row in found for value in row[:2])])
        print(rows[-1], file=sys.stderr)
    columns = [
        "recipe",
        "batches",
        *(f"{what}, {n} workers" for n in WORKERS for what in ("s an epoch", "processor s")),
    ]
    settings = f"{corpus.name}, batches of 16, medians of {options.epochs - 1} epochs after the first, one torch thread"
    Result(columns, rows, measured, settings, describe_machine(), [f"torch {torch.__version__}"]).show(options.result)


if __name__ == "__main__":
    main()
