"""Run the benchmarks of docs/benchmarks.md one after the other, and write the page.

    python benchmarks/run.py [--peer-python PYTHON ...] [--node-modules FOLDER] [--before PYTHON]
        [--only NAME ... | --tables] [--list]

``--list`` prints the commands. Each writes ``benchmarks/results/NAME.json``, or a file below another folder with
``--results``; nothing else may run meanwhile. ``--tables`` are the comparisons of the whole command with other systems,
with ``--hours``, ``--long`` and ``--formats`` hours of audio and ``--runs`` rounds. With ``--before``, the interpreter
of an environment with an earlier version, phases and the first run are those of both. With ``--node-modules``, epochs
from an object store are measured too; see ``remote.py``. Without
``--peer-python``, only tts-prep and librosa are measured. The first interpreter has torch, lhotse, datasets,
webdataset, grain, array_record, librosa, soundfile, soxr, joblib, phonemizer and espeakng-loader. Others are for the
loader's table, and for another lhotse in the tables of the command. mosaicml-streaming needs its own, because it
imports torchvision, whose builds need torch with CUDA; 0.15.2 can be imported beside another torch, without its
compiled operators: ``pip install --no-deps mosaicml-streaming torchvision==0.15.2`` beside torch and the other packages
that mosaicml-streaming names.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMATS = ("44100", "flac", "mp3", "opus")
TABLES = ("command", "command-phonemes", "command-hours-24", *(f"recordings-{name}" for name in FORMATS))
N_FFT = "400 480 512 960 1024 1094 1102 1200 1920 2048"


def commands(options: argparse.Namespace) -> dict[str, str]:
    """Return name of a result → the script with its arguments."""
    peers = f" --peer-python {shlex.join(options.peer_python)}" if options.peer_python else ""
    before = f" --before {shlex.quote(options.before)}" if options.before else ""
    hours, long, runs = f"--hours {options.hours:g}", f"--hours {options.long:g}", f"--runs {options.runs}"
    remote = f"--node-modules {shlex.quote(str(options.node_modules))} --rounds {options.runs}"
    # Of the two tables of the same corpus, the second has what the first lacks.
    phonemes = "librosa-phonemes torch-phonemes lhotse-phonemes lhotse1-phonemes datasets-phonemes"
    made = {
        "kernel": "kernel.py --runs 15",
        "kernel-lengths": f"kernel.py --runs 7 --n-fft {N_FFT}",
        "command": f"command.py {hours} {runs}{peers}",
        "phases": f"phases.py {shlex.quote(str(corpus(options.hours)))} {runs}{before}",
        "first-run": f"first_run.py {runs}{before}",
        "from-nothing": f"from_nothing.py --rounds {options.runs}",
        # On the store and the files that 'command' leaves.
        "loader": f"loader.py --runs 5{peers}",
        "remote": f"remote.py {remote}{peers}",
        "readers": f"readers.py {shlex.quote(str(corpus(options.hours)))} --runs 5",
        "command-phonemes": f"command.py {hours} {runs} --phonemes --only {phonemes}{peers}",
        "command-hours-1": f"command.py --hours 1 {runs} --only librosa",
        "command-hours-5": f"command.py --hours 5 {runs} --only librosa",
        "command-hours-24": f"command.py {long} {runs}{peers}",
        "phases-24": f"phases.py {shlex.quote(str(corpus(options.long)))} {runs}{before}",
        "command-jobs-1": f"command.py --hours 5 {runs} --jobs 1 --only",
        "command-jobs-2": f"command.py --hours 5 {runs} --jobs 2 --only",
    }
    for recordings in FORMATS:
        size = f"--hours {options.formats:g}"
        made[f"recordings-{recordings}"] = f"command.py {size} {runs} --recordings {recordings}{peers}"
    if not options.node_modules:
        del made["remote"]
    return made


def corpus(hours: float) -> Path:
    """Return the corpus that command.py makes."""
    return HERE / "output" / f"corpus-{hours:g}h"


def left(folder: Path) -> str:
    """Return how much the benchmarks have left in a folder."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return f"{folder} has {size / 1e9:.1f} GB, which further runs use again; delete it when you are done"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the benchmarks, and write docs/benchmarks.md.")
    parser.add_argument("--peer-python", nargs="+", default=[], metavar="PYTHON", help="environments with the peers")
    parser.add_argument("--node-modules", type=Path, help="a folder with s3rver, for epochs from an object store")
    parser.add_argument("--before", metavar="PYTHON", help="an environment with an earlier version")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="results, instead of all")
    parser.add_argument("--tables", action="store_true", help="only what compares the command with other systems")
    parser.add_argument("--hours", type=float, default=5.0, help="hours of audio of most tables")
    parser.add_argument("--long", type=float, default=24.0, help="hours of audio of the long tables")
    parser.add_argument("--formats", type=float, default=1.0, help="hours of audio in other formats")
    parser.add_argument("--runs", type=int, default=3, help="rounds in turn")
    parser.add_argument("--results", type=Path, help="another folder of results; docs/benchmarks.md stays as it is")
    parser.add_argument("--list", action="store_true", help="print the commands")
    options = parser.parse_args()
    chosen = commands(options)
    names = options.only or (TABLES if options.tables else chosen)
    if unknown := [name for name in names if name not in chosen]:
        parser.error(f"--only {unknown[0]}: expected some of {', '.join(chosen)}")
    failed: list[str] = []
    for name in names:
        file, *arguments = shlex.split(chosen[name])
        result = str(options.results.resolve() / name) if options.results else name
        print(f"python benchmarks/{chosen[name]} --result {result}", flush=True)
        if not options.list:
            done = subprocess.run([sys.executable, str(HERE / file), *arguments, "--result", result])
            # One that fails costs its own table only.
            failed += [name] if done.returncode else []
    if not options.list and not options.results:
        subprocess.run([sys.executable, str(HERE.parent / "docs" / "make_benchmarks.py")], check=True)
    if not options.list:
        print(left(HERE / "output"), file=sys.stderr)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
