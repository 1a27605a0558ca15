"""Time a newcomer's first run: seconds from the command to the first batch, with an empty cache of the compiler.

    python benchmarks/first_run.py [CORPUS] --runs 3 [--before PYTHON] [--result first-run]

CORPUS is in LJ Speech's layout; without one, 36 clips are synthesised. Each run is a new process with a new cache
folder of the compiler, and an empty folder for the store. Then the loader makes a batch in another new process, and the
same command runs again, now with the compiled kernel. With ``--before``, the interpreter of an environment with an
earlier version, both are measured in turn. Python's bytecode is cached, as pip leaves it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import Result, describe_machine, environment

CLIPS = 36
BATCH = """
import sys
from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset
dataset = UtteranceDataset(sys.argv[1])
batches = LengthBucketBatchSampler(dataset.n_frames, max_frames=20_000, seed=0)
batch = next(iter(DataLoader(dataset, batch_sampler=batches)))
assert batch.mel.shape[2] == 80
"""
STEPS = ("the first command", "the first batch", "the command again")


def run(python: str, corpus: Path) -> dict[str, float]:
    """Return the seconds of each step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values = environment() | {"NUMBA_CACHE_DIR": str(folder / "compiled")}
        seconds = {}
        for step, arguments in zip(
            STEPS,
            (
                ["-m", "tts_prep", "ljspeech", str(corpus), str(folder / "store"), "--jobs", "2"],
                ["-c", BATCH, str(folder / "store")],
                ["-m", "tts_prep", "ljspeech", str(corpus), str(folder / "again"), "--jobs", "2"],
            ),
            strict=True,
        ):
            start = time.perf_counter()
            done = subprocess.run([python, *arguments], env=values, capture_output=True, text=True, cwd="/")
            seconds[step] = time.perf_counter() - start
            if done.returncode:
                sys.exit(f"{step}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return seconds | {"first command and first batch": seconds[STEPS[0]] + seconds[STEPS[1]]}


def synthesise(folder: Path) -> Path:
    """Return a folder with a small corpus."""
    script = Path(__file__).with_name("synthesise.py")
    subprocess.run([sys.executable, str(script), str(folder), "--hours", "0.066"], check=True, stdout=sys.stderr)
    rows = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:CLIPS]
    (folder / "metadata.csv").write_text("".join(rows), encoding="utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a newcomer's first run.")
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of an environment with an earlier version")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    pythons = [options.before, sys.executable] if options.before else [sys.executable]
    with tempfile.TemporaryDirectory() as name:
        corpus = options.corpus or synthesise(Path(name) / "corpus")
        n_rows = len((corpus / "metadata.csv").read_text(encoding="utf-8").splitlines())
        for python in pythons:
            run(python, corpus)  # caches bytecode
        runs = [[run(python, corpus) for python in pythons] for _ in range(options.runs)]
    found = [{step: [run[step] for run in of_one] for step in of_one[0]} for of_one in zip(*runs, strict=True)]
    rows = [
        [step, *(f"{statistics.median(of_one[step]):.1f} ({min(of_one[step]):.1f})" for of_one in found)]
        for step in found[-1]
    ]
    Result(
        ["", *(["before", "now"] if options.before else ["seconds"])],
        rows,
        {step: statistics.median(times) for step, times in found[-1].items()},
        f"{n_rows} utterances, 2 jobs, seconds: median (least) of {options.runs} runs in turn.",
        describe_machine(),
    ).show(options.result)


if __name__ == "__main__":
    main()
