"""Print where the processor time of a run goes: one process, by phase.

    python benchmarks/phases.py CORPUS --runs 3 [--result phases]

CORPUS is in LJ Speech's layout, such as ``benchmarks/output/corpus-5h``. The functions of a run are wrapped in clocks;
the numbers are the least of all runs, each in a new process. The last row is the limit: a loop that decodes the same
recordings by soundfile, and writes as many bytes as the store has, with CRC-32 and SHA-256, without mel and text. With
``PYTHONPATH`` set to the checkout of an earlier version, they are that version's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from results import Result, describe_machine

PLAIN_LOOP = "a plain loop over the same bytes, without mel and text"
STORE = Path(__file__).resolve().parent / "output" / "phases"
# Phase → functions of the modules shards and prepare.
PHASES = {
    "importing": (),
    "text: normalization, espeak-ng, ids": ("phonemize",),
    "reading, decoding and checking recordings": ("_read",),
    "mel": ("_mel_and_energy",),
    "statistics": ("bin_moments",),
    "writing and CRC-32": ("_write",),
    "SHA-256": ("seal_file",),
    "loading the compiler and the kernel": ("compile_kernels",),
    "frontend and versions": ("recipe_of",),
    "index and manifest": ("assemble_store",),
}


def run_once(corpus: Path) -> dict[str, float]:
    """Make a store in this process; return phase → seconds of processor time."""
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.corpora import read_ljspeech
    from tts_prep.preprocess.runs import prepare, shards

    found = dict.fromkeys(PHASES, 0.0) | {"importing": time.process_time()}
    inner: list[float] = [0.0]

    def clocked(function: Any, phase: str) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            begun = time.process_time()
            inner.append(0.0)
            try:
                return function(*arguments, **keywords)
            finally:
                taken = time.process_time() - begun
                # What other phases took inside of this one is theirs.
                found[phase] += taken - inner.pop()
                inner[-1] += taken

        return call

    for phase, names in PHASES.items():
        for name in names:
            module: Any = shards if hasattr(shards, name) else prepare
            setattr(module, name, clocked(getattr(module, name), phase))
    shutil.rmtree(STORE, ignore_errors=True)
    prepare.prepare(read_ljspeech(corpus), corpus, STORE, Configuration())
    everything = time.process_time()
    found["the rest"] = everything - found["importing"] - inner[0]
    found["all"] = everything
    return found


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--once", action="store_true", help="print the phases of one run as JSON")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(run_once(options.corpus) | {PLAIN_LOOP: run_plain_loop(options.corpus)}))
        return
    command = [sys.executable, __file__, str(options.corpus), "--once"]
    # The first run compiles, and fills caches.
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        for _ in range(options.runs + 1)
    ][1:]
    least = {phase: min(run[phase] for run in runs) for phase in runs[0]}
    rows = [[phase, f"{seconds:.2f}", f"{seconds / least['all']:.0%}"] for phase, seconds in least.items()]
    n_rows = len((options.corpus / "metadata.csv").read_text(encoding="utf-8").splitlines())
    Result(
        ["", "seconds of processor time", "share"],
        rows,
        least,
        f"{n_rows:,} utterances, one process, least of {options.runs} runs.",
        describe_machine(),
    ).show(options.result)


if __name__ == "__main__":
    main()
