"""Run the benchmarks of docs/BENCHMARKS.md one after the other, and write the page.

    python benchmarks/run.py [--peer-python PYTHON] [--only NAME ...] [--list]

``--list`` prints the commands. Each writes ``benchmarks/results/NAME.json``; leave the machine alone meanwhile. Without
``--peer-python`` the peers are left out; theirs is an environment with torch, lhotse, datasets, webdataset, grain,
array_record, mosaicml-streaming and torchvision, librosa, soundfile, soxr, joblib, phonemizer and espeakng-loader.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "output" / "corpus-5h"
N_FFT = "400 480 512 960 1024 1094 1102 1200 1920 2048"


def commands(peers: str | None) -> dict[str, str]:
    """Return name of a result → the script with its arguments."""
    also = f" --peer-python {shlex.quote(peers)}" if peers else ""
    phonemes = "librosa-phonemes torch-phonemes lhotse-phonemes datasets-phonemes"
    made = {
        "kernel": "kernel.py --runs 15",
        "kernel-lengths": f"kernel.py --runs 7 --n-fft {N_FFT}",
        "command": f"command.py --hours 5 --runs 3{also}",
        "phases": f"phases.py {shlex.quote(str(CORPUS))} --runs 3",
        # In the store and the files that the line before left.
        "loader": f"loader.py --runs 5{also}",
        "readers": f"readers.py {shlex.quote(str(CORPUS))} --runs 5",
        "command-phonemes": f"command.py --hours 5 --runs 3 --phonemes --only {phonemes}{also}",
        "command-hours-1": "command.py --hours 1 --runs 3 --only librosa",
        "command-hours-5": "command.py --hours 5 --runs 3 --only librosa",
        "command-hours-24": "command.py --hours 24 --runs 3 --only librosa",
        "command-jobs-1": "command.py --hours 5 --runs 3 --jobs 1 --only",
        "command-jobs-2": "command.py --hours 5 --runs 3 --jobs 2 --only",
    }
    for recordings in ("44100", "flac", "mp3", "opus"):
        made[f"recordings-{recordings}"] = f"command.py --hours 1 --runs 3 --recordings {recordings}{also}"
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the benchmarks, and write docs/BENCHMARKS.md.")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an environment with the peers")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the commands")
    options = parser.parse_args()
    chosen = commands(options.peer_python)
    if options.only:
        chosen = {name: chosen[name] for name in options.only}
    failed: list[str] = []
    for name, script in chosen.items():
        file, *arguments = shlex.split(script)
        print(f"python benchmarks/{script} --result {name}", flush=True)
        if not options.list:
            done = subprocess.run([sys.executable, str(HERE / file), *arguments, "--result", name])
            # One that fails costs its own table only.
            failed += [name] if done.returncode else []
    if not options.list:
        subprocess.run([sys.executable, str(HERE / "page.py")], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
