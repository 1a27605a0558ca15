"""Record how fast commits are: ten rows, each by a fixed plain loop of the same minute, one point of JSON a commit.

    python benchmarks/history.py [COMMIT ...] [--rounds 5] [--slower PERCENT] [--result speed]

Each commit, by default HEAD, is checked out below ``benchmarks/output/history/`` and measured in turn with the others,
by the interpreter and the packages of this process. A number is processor time by that of the plain loop, which runs
right before and after it, so that a busy machine or a slower one changes it less than seconds; that of a command has
that of its child processes in it. Commands have one job, and their kernel is compiled before.

A point is an entry of github-action-benchmark's ``data.js``, of the tool ``customSmallerIsBetter``, in
``benchmarks/results/speed/``; ``--points`` takes another folder. The table of all points is the result ``speed``. What
is slower in the last commit than in the one before it, or, of one commit alone, than in the last point of the same
machine, by more than ``--slower`` percent, is printed, and the exit status is 1. A commit takes 30 seconds a round.
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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from results import FOLDER, Result, describe_machine, environment

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "benchmarks" / "output" / "history"
SHORT, HOURS = 0.058, 1.0
"""Hours of audio: 36 clips, and enough for epochs."""
SHOWN = 6
COLUMN = "ratio to the plain loop"

LOADER = """
from tts_prep.loader import ChainDataset, Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset
dataset = UtteranceDataset('store-long')
def epochs(chosen):
    sampler = LengthBucketBatchSampler(chosen.n_frames, batch_size=32, seed=0)
    loader = DataLoader(chosen, batch_sampler=sampler, collate_fn=Collator(waveform=False), prefetch=0)
    def run():
        loader.set_epoch(0)
        for batch in loader:
            len(batch)
    return run
"""
MEL = """
import numpy as np
from tts_prep.preprocess.audio import mel
from tts_prep.preprocess.audio.presets import PRESETS
make = mel.MelExtractor(PRESETS['parakeet'])
samples = np.random.default_rng(0).standard_normal(22050 * 30).astype(np.float32) / 10
run = lambda: make(samples)
"""
CALLS = {
    "mel of 30 s of audio": (MEL, 40),
    "epoch of an hour, one store": (f"{LOADER}run = epochs(dataset)", 20),
    "the same, a chain of 50 selections": (
        f"{LOADER}run = epochs(ChainDataset(*[dataset[number::50] for number in range(50)]))",
        20,
    ),
    "dataset[i], mel and phonemes of an hour": (
        f"{LOADER}run = lambda: [(row.mel, row.phonemes) for row in map(dataset.__getitem__, range(len(dataset)))]",
        40,
    ),
}
"""Name → code that defines `run`, and how often it runs between two plain loops."""

MAKE = ["ljspeech", "corpus", "--waveform", "int16", "--jobs", "1"]
COMMANDS: dict[str, list[str]] = {
    "import tts_prep.loader": ["-c", "import tts_prep.loader"],
    "tts-prep --help": ["-m", "tts_prep", "--help"],
    "tts-prep ljspeech, 36 clips": ["-m", "tts_prep", *MAKE[:2], "new", *MAKE[2:]],
    "tts-prep ljspeech --update, nothing changed": ["-m", "tts_prep", *MAKE[:2], "store", *MAKE[2:], "--update"],
    "tts-prep check": ["-m", "tts_prep", "check", "store"],
    "tts-prep export --to lhotse": ["-m", "tts_prep", "export", "store", "new", "--to", "lhotse"],
}
CALL = """
import sys, time
{code}
run(), run()
for line in sys.stdin:
    start = time.process_time()
    for _ in range({times}):
        run()
    print((time.process_time() - start) / {times}, flush=True)
"""


def plain_loop() -> float:
    """Return the processor seconds of a loop of arithmetic and copies, which no commit changes."""
    source, target = np.ones(1 << 24, np.uint8), np.ones(1 << 24, np.uint8)
    start, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number * number % 7
    for _ in range(20):
        target[:] = source
    return time.process_time() - start


class Tree:
    """A commit that is checked out, with its stores."""

    def __init__(self, commit: str, corpora: dict[str, Path]) -> None:
        found = git("log", "-1", "--format=%H%n%cI%n%s", commit).split("\n")
        self.commit = {"id": found[0], "timestamp": found[1], "message": found[2]}
        self.folder = WORK / found[0][:8]
        if not (self.folder / "tree").exists():
            subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(self.folder / "tree")], check=True)
        subprocess.run(["git", "checkout", "--quiet", found[0]], cwd=self.folder / "tree", check=True)
        for name, corpus in corpora.items():
            if not (self.folder / name).exists():
                (self.folder / name).symlink_to(corpus)
        self.environment = environment() | {"PYTHONPATH": str(self.folder / "tree")}
        for store, of in (("store", "corpus"), ("store-long", "corpus-long")):
            shutil.rmtree(self.folder / store, ignore_errors=True)
            self.run(["-m", "tts_prep", "ljspeech", of, store, *MAKE[2:]])
        self.calls = {
            name: subprocess.Popen(
                [sys.executable, "-c", CALL.format(code=code, times=times)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name, (code, times) in CALLS.items()
        }

    def run(self, arguments: Sequence[str]) -> float:
        """Return the processor seconds of a command and its child processes."""
        shutil.rmtree(self.folder / "new", ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{self.folder}: {' '.join(arguments)}: exit status {done.returncode}:\n{done.stdout[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self, name: str) -> float:
        if name in COMMANDS:
            return self.run(COMMANDS[name])
        process = self.calls[name]
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    def close(self) -> None:
        for process in self.calls.values():
            process.communicate("")


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def measure(trees: Sequence[Tree], rounds: int) -> list[dict[str, Any]]:
    """Return a point for each commit, measured in turn."""
    found: list[dict[str, list[tuple[float, float]]]] = [{} for _ in trees]
    for number in range(rounds + 1):
        for name in (*CALLS, *COMMANDS):
            for tree, times in zip(trees, found, strict=True):
                before = plain_loop()
                seconds = tree.measure(name)
                plain = (before + plain_loop()) / 2
                if number:  # in the first round, caches fill
                    times.setdefault(name, []).append((seconds, seconds / plain))
    points = []
    for tree, times in zip(trees, found, strict=True):
        benches = []
        for name, pairs in times.items():
            ratios = [ratio for _, ratio in pairs]
            seconds = statistics.median(taken for taken, _ in pairs)
            benches.append(
                {
                    "name": name,
                    "unit": COLUMN,
                    "value": round(statistics.median(ratios), 4),
                    "range": f"{min(ratios):.4f} to {max(ratios):.4f}",
                    "extra": f"{seconds * 1e3:.2f} ms, median of {rounds} rounds; {describe_machine()}",
                }
            )
        made = {"commit": tree.commit, "date": int(time.time() * 1000), "tool": "customSmallerIsBetter"}
        points.append(made | {"benches": benches})
    return points


def values(point: dict[str, Any]) -> dict[str, float]:
    return {bench["name"]: bench["value"] for bench in point["benches"]}


def machine_of(point: dict[str, Any]) -> str:
    return str(point["benches"][0]["extra"]).partition("; ")[2]


def slower(before: dict[str, Any], after: dict[str, Any], percent: float) -> list[str]:
    """Return a line for each row that takes longer than before by more than so many percent, in all rounds of both."""
    old = values(before)
    most = {bench["name"]: float(bench["range"].split()[-1]) for bench in before["benches"]}
    least = {bench["name"]: float(bench["range"].split()[0]) for bench in after["benches"]}
    of = f"{after['commit']['id'][:8]} to {before['commit']['id'][:8]}"
    return [
        f"slower: {name}: {value:.3f}, {old[name]:.3f} before, {100 * (value / old[name] - 1):+.0f} % ({of})"
        for name, value in values(after).items()
        if old.get(name) and value > old[name] * (1 + percent / 100) and least[name] > most[name]
    ]


def read_points(folder: Path) -> list[dict[str, Any]]:
    """Return the points of a folder, by the time of their commits and of measuring."""
    points = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(points, key=lambda point: (point["commit"]["timestamp"], point["date"]))


def table(points: Sequence[dict[str, Any]]) -> Result:
    """Return the last points as a table, each with the spread of its rounds."""
    shown = points[-SHOWN:]
    heads = [f"`{point['commit']['id'][:8]}`, {point['commit']['timestamp'][:10]}" for point in shown]
    cells = [
        {bench["name"]: f"{bench['value']:.3g} ({bench['range']})" for bench in point["benches"]} for point in shown
    ]
    rows = [[name, *(of.get(name, "") for of in cells)] for name in values(shown[-1])]
    return Result(
        ["processor time by that of the plain loop: median (least to most)", *heads],
        rows,
        values(shown[-1]),
        f"{len(points)} points; 36 clips and {HOURS:g} hour of audio, one job.",
        "; ".join(dict.fromkeys(map(machine_of, shown))),
    )


def corpora() -> dict[str, Path]:
    """Return the two corpora, made once."""
    made = {}
    for name, hours in (("corpus", SHORT), ("corpus-long", HOURS)):
        made[name] = WORK / f"{name}-{hours:.4f}h"
        script = [sys.executable, str(ROOT / "benchmarks/synthesise.py"), str(made[name]), "--hours", str(hours)]
        subprocess.run(script, check=True, stdout=sys.stderr)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Record how fast commits are, by a fixed plain loop.")
    parser.add_argument("commits", nargs="*", default=["HEAD"], metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slower", type=float, default=10.0, metavar="PERCENT")
    parser.add_argument("--points", type=Path, default=FOLDER / "speed", help="the folder of points")
    parser.add_argument(
        "--result", metavar="NAME", help="write the table of all points to benchmarks/results/NAME.json"
    )
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    before = [point for point in read_points(options.points) if machine_of(point).startswith(describe_machine())]
    WORK.mkdir(parents=True, exist_ok=True)
    inputs = corpora()
    # Each once: yesterday's commit can be today's.
    commits = dict.fromkeys(git("rev-parse", commit) for commit in options.commits)
    trees = [Tree(commit, inputs) for commit in commits]
    made = measure(trees, options.rounds)
    for tree, point in zip(trees, made, strict=True):
        tree.close()
        options.points.mkdir(parents=True, exist_ok=True)
        path = options.points / f"{tree.commit['id'][:12]}.json"
        path.write_text(f"{json.dumps(point, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    table(read_points(options.points)).show(options.result)
    # Commits that were measured in turn say more than a point of another day.
    earlier = [point for point in before if point["commit"]["timestamp"] < made[0]["commit"]["timestamp"]]
    compared = [*earlier[-1:], *made][-2:]
    lines = slower(compared[0], compared[1], options.slower) if len(compared) == 2 else []
    print("\n".join(lines) or f"nothing is slower by more than {options.slower:g} %")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
