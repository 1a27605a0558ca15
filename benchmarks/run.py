"""Run the benchmarks of docs/benchmarks.md one after the other, and write the page.

    python benchmarks/run.py [--peer-python PYTHON ...] [--only NAME ...] [--list]

``--list`` prints the commands. Each writes ``benchmarks/results/NAME.json``; nothing else may run meanwhile. Without
``--peer-python``, only tts-prep and librosa are measured. The first interpreter has torch, lhotse, datasets,
webdataset, grain, array_record, librosa, soundfile, soxr, joblib, phonemizer and espeakng-loader. Others are for the
loader's table alone. mosaicml-streaming needs its own, because it imports torchvision, whose builds need torch with
CUDA; 0.15.2 can be imported beside another torch, without its compiled operators: ``pip install --no-deps
mosaicml-streaming torchvision==0.15.2`` beside torch and the other packages that mosaicml-streaming names.
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


def commands(peers: list[str]) -> dict[str, str]:
    """Return name of a result → the script with its arguments."""
    also = f" --peer-python {shlex.quote(peers[0])}" if peers else ""
    all_peers = f" --peer-python {shlex.join(peers)}" if peers else ""
    phonemes = "librosa-phonemes torch-phonemes lhotse-phonemes datasets-phonemes"
    made = {
        "kernel": "kernel.py --runs 15",
        "kernel-lengths": f"kernel.py --runs 7 --n-fft {N_FFT}",
        "command": f"command.py --hours 5 --runs 3{also}",
        "phases": f"phases.py {shlex.quote(str(CORPUS))} --runs 3",
        # On the store and the files that 'command' leaves.
        "loader": f"loader.py --runs 5{all_peers}",
        "readers": f"readers.py {shlex.quote(str(CORPUS))} --runs 5",
        "command-phonemes": f"command.py --hours 5 --runs 3 --phonemes --only {phonemes}{also}",
        "command-hours-1": "command.py --hours 1 --runs 3 --only librosa",
        "command-hours-5": "command.py --hours 5 --runs 3 --only librosa",
        "command-hours-24": f"command.py --hours 24 --runs 3{also}",
        "command-jobs-1": "command.py --hours 5 --runs 3 --jobs 1 --only",
        "command-jobs-2": "command.py --hours 5 --runs 3 --jobs 2 --only",
    }
    for recordings in ("44100", "flac", "mp3", "opus"):
        made[f"recordings-{recordings}"] = f"command.py --hours 1 --runs 3 --recordings {recordings}{also}"
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the benchmarks, and write docs/benchmarks.md.")
    parser.add_argument("--peer-python", nargs="+", default=[], metavar="PYTHON", help="environments with the peers")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=commands([]))
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
        subprocess.run([sys.executable, str(HERE.parent / "docs" / "make_benchmarks.py")], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
