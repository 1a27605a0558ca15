"""Print where the processor time of a run goes: one process, by phase.

    python benchmarks/phases.py CORPUS --runs 3 [--before PYTHON] [--result phases]

CORPUS is in LJ Speech's layout, such as ``benchmarks/output/corpus-5h``. A timer interrupts the run after every tick of
the system's clock in processor time, usually 1 to 10 ms, and the time since the last tick counts for the phase of the
code that is running. The numbers are the least of all runs, each in a new process. The last row is the limit: a loop
that decodes the same recordings by soundfile, and writes as many bytes as the store has, with CRC-32 and SHA-256,
without mel and text. With ``--before``, the interpreter of an environment with an earlier version, both are measured in
turn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from functools import cache
from pathlib import Path
from types import FrameType

from results import Result, describe_machine, environment

import tts_prep

PLAIN_LOOP = "a plain loop over the same bytes, without mel and text"
STORE = Path(__file__).resolve().parent / "output" / "phases"
TICK = 0.001
PHASES = {
    "text: normalization, espeak-ng, ids": ("preprocess/make/phonemizing.py:",),
    "reading, decoding and checking recordings": ("preprocess/make/recordings.py:",),
    "loading the compiler and the kernel": ("preprocess/audio/mel.py:compile_kernels",),
    "statistics": ("preprocess/audio/mel.py:mel_statistics",),
    "mel": ("preprocess/audio/mel.py:",),
    "writing and CRC-32": ("format/hdf5/", "format/files/atomic.py:"),
    "SHA-256": ("format/files/checksums.py:seal_file",),
    "planning": ("preprocess/plan/shard_plans.py:plan_shards",),
    "frontend and versions": (
        "preprocess/plan/shard_settings.py:make_recipe",
        "preprocess/plan/shard_settings.py:recipe_of",
    ),
    "index and manifest": ("format/assembly.py:assemble_store",),
}
"""Phase → starts of ``path:function``, within tts_prep, also of version 61f5658.

The phase of a moment is that of the outermost such call. The SHA-256 of a file is computed by what writes the file, but
counted apart.
"""


def run_once(corpus: Path, limit: int | None) -> dict[str, float]:
    """Make a store in this process; return phase → seconds of processor time."""
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
    from tts_prep.preprocess.run import prepare

    found = {"importing": time.process_time()} | dict.fromkeys([*PHASES, "the rest"], 0.0)
    root = f"{Path(tts_prep.__file__).parent}{os.sep}"
    last = found["importing"]

    def count(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now, found_in = time.process_time(), "the rest"
        while frame:
            code = frame.f_code
            if code.co_filename.startswith(root):
                phase = phase_of(f"{code.co_filename.removeprefix(root)}:{code.co_name}")
                if phase and (found_in, phase) != ("SHA-256", "writing and CRC-32"):
                    found_in = phase
            frame = frame.f_back
        found[found_in] += now - last
        last = now

    shutil.rmtree(STORE, ignore_errors=True)
    signal.signal(signal.SIGPROF, count)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    prepare(read_ljspeech(corpus), corpus, STORE, Configuration(limit=limit))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return found | {"all": time.process_time()}


@cache
def phase_of(place: str) -> str | None:
    """Return the phase of ``path:function``, the first that matches."""
    return next((phase for phase, starts in PHASES.items() if place.startswith(starts)), None)


def run_plain_loop(corpus: Path) -> float:
    """Decode the recordings and write the bytes of the last store; return seconds of processor time."""
    import soundfile

    recordings = sorted((corpus / "wavs").iterdir())
    sizes = [path.stat().st_size for path in sorted((STORE / "shards").iterdir())]
    begun = time.process_time()
    for path in recordings:
        soundfile.read(path, dtype="float32")
    for number, size in enumerate(sizes):
        data = bytes(size)
        with (STORE / f"{number}.bin").open("wb") as file:
            file.write(data)
            zlib.crc32(data)
            hashlib.sha256(data).hexdigest()
            os.fsync(file.fileno())
    return time.process_time() - begun


def measure(python: str, corpus: Path, *more: str) -> dict[str, float]:
    """Return the phases of a run in a new process."""
    command = [python, __file__, str(corpus), "--once", *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment())
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of an environment with an earlier version")
    parser.add_argument("--once", action="store_true", help="print the phases of one run as JSON")
    parser.add_argument("--limit", type=int, help="the number of rows of one run")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(run_once(options.corpus, options.limit) | {PLAIN_LOOP: run_plain_loop(options.corpus)}))
        return
    pythons = [options.before, sys.executable] if options.before else [sys.executable]
    for python in pythons:
        # The first run compiles, and fills caches.
        measure(python, options.corpus, "--limit", "20")
    runs = [[measure(python, options.corpus) for python in pythons] for _ in range(options.runs)]
    least = [{phase: min(run[phase] for run in of_one) for phase in of_one[0]} for of_one in zip(*runs, strict=True)]
    now = least[-1]
    rows = [
        [phase, *(f"{of_one[phase]:.2f}" for of_one in least), f"{seconds / now['all']:.0%}"]
        for phase, seconds in now.items()
    ]
    n_rows = len((options.corpus / "metadata.csv").read_text(encoding="utf-8").splitlines())
    titles = ["before", "now", "share"] if options.before else ["seconds of processor time", "share"]
    Result(
        ["", *titles],
        rows,
        now,
        f"{n_rows:,} utterances, one process, seconds of processor time, least of {options.runs} runs.",
        describe_machine(),
    ).show(options.result)


if __name__ == "__main__":
    main()
