"""Time the whole command against the scripts that do the same, and print a markdown table.

    python benchmarks/command.py --hours 1 --runs 3 --jobs 2 [--peer-python PYTHON ...] [--phonemes]
        [--result command]
    python benchmarks/command.py --hours 1 --recordings 44100|flac|mp3|opus

Every round runs each contender once, in turn, on the same corpus and into a new folder; threads are pinned to one a
process for all. The ratios are taken inside of a round, so that a slow minute of the machine strikes both sides.
With ``--phonemes``, each peer has a second row in which it makes phonemes too, by phonemizer. ``--recordings`` gives
all the corpus at 44,100 Hz, or in another format. With further environments in ``--peer-python``, their lhotse is
another row.

Everything is written below benchmarks/output/. The corpus is read once before, so it comes from memory. Before the
first round every contender makes a small corpus, and what it made is compared, so that a library that is missing is
noticed there. The table of the rounds so far is in benchmarks/output/rounds.json after each.

Only the standard library is imported here: a process starts with its parent's peak of memory.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import wave
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from results import Result, describe_machine, environment

HERE = Path(__file__).resolve().parent
WORK = HERE / "output"
WARM_UP_HOURS = 0.01

PINNED = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")}


@dataclass(frozen=True)
class Contender:
    """One row of the table: how to make the mels of a corpus below an output folder with so many jobs."""

    key: str
    name: str
    python: str
    command: Callable[[Path, Path, int], list[str]]
    packages: tuple[str, ...]
    count: Callable[[Path], int]


@dataclass(frozen=True)
class Run:
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def count_npy(output: Path) -> int:
    return sum(1 for _ in output.glob("*.npy"))


def count_store(output: Path) -> int:
    totals: dict[str, int] = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["totals"]
    return totals["utterances"]


def script(name: str, *options: str) -> Callable[[Path, Path, int], list[str]]:
    return lambda corpus, output, jobs: [str(HERE / name), str(corpus), str(output), "--jobs", str(jobs), *options]


def reader(corpus: Path) -> list[str]:
    """Return the command that reads a corpus: LJ Speech's layout is WAV only."""
    rows = corpus / "list.txt"
    return ["filelist", str(rows), "--columns", "path|text"] if rows.exists() else ["ljspeech", str(corpus)]


def count_datasets(output: Path) -> int:
    return int((output / "rows").read_text())


def count_lines(output: Path) -> int:
    return sum(1 for _ in (output / "cuts.jsonl").open(encoding="utf-8"))


def list_contenders(peer_pythons: list[str], *, phonemes: bool) -> list[Contender]:
    """Return the rows, ours first; another peer is another entry here."""
    contenders = [
        Contender(
            key="store",
            name="tts-prep",
            python=sys.executable,
            command=lambda corpus, output, jobs: (
                ["-m", "tts_prep", *reader(corpus), str(output), "--jobs", str(jobs)]
            ),
            packages=("numpy", "scipy", "numba", "h5py", "soundfile", "joblib", "phonemizer", "espeakng-loader"),
            count=count_store,
        ),
        Contender(
            key="librosa",
            name="librosa + joblib + .npy",
            python=sys.executable,
            command=script("baseline_librosa.py"),
            packages=("librosa", "numpy", "scipy", "numba", "soundfile", "joblib"),
            count=count_npy,
        ),
    ]
    with_lhotse = [python for python in peer_pythons if version_in(python, "lhotse")]
    for number, python in enumerate(with_lhotse):
        torch = ("torch", "librosa", "numpy", "soundfile", "joblib")
        lhotse = f"lhotse {version_in(python, 'lhotse')} compute_and_store_features"
        peers = (
            ("torch", "torch.stft + joblib + .npy", torch, count_npy),
            ("lhotse", lhotse, ("lhotse", "torch", "librosa"), count_lines),
            ("datasets", "Hugging Face datasets.map", ("datasets", "librosa"), count_datasets),
        )
        for key, name, packages, count in peers if number == 0 else peers[1:2]:
            found = script(f"baseline_{key}.py")
            contenders.append(Contender(f"{key}{number or ''}", name, python, found, packages, count))
    if phonemes:
        for peer in contenders[1:]:
            command = script(f"baseline_{peer.key.rstrip('123456789')}.py", "--phonemes")
            also = replace(peer, key=f"{peer.key}-phonemes", name=f"{peer.name}, with phonemes", command=command)
            contenders.append(also)
    return contenders


def run(contender: Contender, corpus: Path, output: Path, jobs: int, expected: int) -> Run:
    """Run a contender into a new folder; leave with its last words where it fails or makes too little."""
    shutil.rmtree(output, ignore_errors=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    # What the run before has left to the disk is not this one's to wait for.
    os.sync()
    with (WORK / "last.log").open("w+b") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            [contender.python, *contender.command(corpus, output, jobs)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment() | PINNED,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        words = log.read().decode(errors="replace")[-2000:]
    if process.returncode != 0:
        sys.exit(f"{contender.name}: exit status {process.returncode}\n{words}")
    made = contender.count(output)
    if made != expected:
        sys.exit(f"{contender.name}: made {made:,} of {expected:,} utterances\n{words}")
    # Of the process and the children that it has waited for: kilobytes on Linux, bytes on macOS.
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Run(seconds, usage.ru_utime + usage.ru_stime, peak)


def synthesise(folder: Path, hours: float, texts: Path | None) -> None:
    options = ["--texts", str(texts)] if texts else []
    subprocess.run(
        [sys.executable, str(HERE / "synthesise.py"), str(folder), "--hours", str(hours), *options],
        check=True,
        stdout=sys.stderr,
        env=with_repository(),
    )


def with_repository() -> dict[str, str]:
    """Return the environment of our scripts: a script's own folder is on the path, the repository above it is not."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])}


def describe_output(contender: Contender, store: Path, output: Path) -> tuple[str, str]:
    """Return what a contender has written, and the differences of its mels to a store's."""
    command = [sys.executable, str(HERE / "outputs.py"), contender.key, str(store), str(output)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=with_repository())
    if done.returncode != 0:
        sys.exit(f"{contender.name}: what it wrote cannot be described; --only leaves it out")
    files, difference = json.loads(done.stdout)
    return files, difference


def measure_corpus(corpus: Path) -> tuple[int, float]:
    """Return the utterances of a corpus and their seconds; afterwards the recordings are in memory for everybody."""
    utterances, seconds = 0, 0.0
    with (corpus / "metadata.csv").open(encoding="utf-8") as rows:
        for row in rows:
            data = (corpus / "wavs" / f"{row.split('|')[0]}.wav").read_bytes()
            with wave.open(io.BytesIO(data), "rb") as recording:
                seconds += recording.getnframes() / recording.getframerate()
            utterances += 1
    return utterances, seconds


def encode(corpus: Path, recordings: str) -> Path:
    """Return a folder with the recordings of a corpus at another rate or in another format, made once."""
    folder = corpus.with_name(f"{corpus.name}-{recordings}")
    subprocess.run([sys.executable, str(HERE / "encode.py"), str(corpus), str(folder), recordings], check=True)
    for path in sorted((folder / "wavs").iterdir()):
        path.read_bytes()
    return folder


def version_in(python: str, package: str) -> str:
    """Return the version of a package of another interpreter; nothing if it lacks the package."""
    program = (
        "import sys; from importlib.metadata import distributions\n"
        "print(next((d.version for d in distributions(name=sys.argv[1])), ''))"
    )
    return subprocess.run([python, "-c", program, package], check=True, capture_output=True, text=True).stdout.strip()


def describe_versions(contender: Contender) -> str:
    program = (
        "import json, platform, sys\n"
        "from importlib.metadata import version\n"
        "print(json.dumps([['Python', platform.python_version()]] + [[p, version(p)] for p in sys.argv[1:]]))"
    )
    output = subprocess.run(
        [contender.python, "-c", program, *contender.packages], check=True, capture_output=True, text=True
    ).stdout
    return ", ".join(f"{name} {version}" for name, version in json.loads(output))


COLUMNS = [
    *("", "seconds: median (min to max)", "times real time", "CPU seconds", "peak memory of the largest process"),
    *("its seconds to tts-prep's", "files written", "its mels' differences to tts-prep's: median, largest"),
]


def make_rows(
    contenders: list[Contender],
    runs: dict[str, list[Run]],
    outputs: dict[str, tuple[str, str]],
    audio_seconds: float,
) -> list[list[str]]:
    rows = []
    ours = [run.seconds for run in runs[contenders[0].key]]
    for contender in contenders:
        times = [run.seconds for run in runs[contender.key]]
        ratios = [their / our for their, our in zip(times, ours, strict=True)]
        median = statistics.median(times)
        rows.append(
            [
                contender.name,
                f"{median:.2f} ({min(times):.2f} to {max(times):.2f})",
                f"{audio_seconds / median:,.0f}",
                f"{statistics.median(run.cpu_seconds for run in runs[contender.key]):.1f}",
                f"{max(run.peak_bytes for run in runs[contender.key]) / 2**20:,.0f} MiB",
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                *outputs[contender.key],
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the whole command against the scripts that do the same.")
    parser.add_argument("--hours", type=float, default=1.0, help="audio to synthesise")
    parser.add_argument("--texts", type=Path, help="a metadata.csv whose texts the synthetic corpus takes")
    parser.add_argument("--corpus", type=Path, help="a corpus in the shape of LJ Speech, instead of a synthetic one")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--peer-python", nargs="+", default=[], metavar="PYTHON", help="an environment with torch, lhotse and datasets"
    )
    parser.add_argument("--only", nargs="*", metavar="KEY", help="rows beside tts-prep's")
    parser.add_argument("--phonemes", action="store_true", help="a second row of each peer, with phonemes")
    parser.add_argument("--recordings", choices=("44100", "flac", "mp3", "opus"), help="encode the corpus first")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    arguments = parser.parse_args()

    contenders = list_contenders(arguments.peer_python, phonemes=arguments.phonemes)
    if arguments.only is not None:
        contenders = contenders[:1] + [c for c in contenders[1:] if c.key in arguments.only]
    WORK.mkdir(exist_ok=True)
    corpus = arguments.corpus
    if corpus is None:
        corpus = WORK / f"corpus-{arguments.hours:g}h"
        synthesise(corpus, arguments.hours, arguments.texts)
    utterances, audio_seconds = measure_corpus(corpus)
    if arguments.recordings:
        corpus = encode(corpus, arguments.recordings)

    # Bytecode, compiled kernels and library files are to be in their caches for every contender alike.
    warm_up = WORK / "corpus-warm-up"
    synthesise(warm_up, WARM_UP_HOURS, arguments.texts)
    warm_up_utterances, _ = measure_corpus(warm_up)
    if arguments.recordings:
        warm_up = encode(warm_up, arguments.recordings)
    warmed = WORK / "warm-up"
    for contender in contenders:
        run(contender, warm_up, warmed / contender.key, arguments.jobs, warm_up_utterances)
        describe_output(contender, warmed / contenders[0].key, warmed / contender.key)
    versions = [f"{c.name}: {describe_versions(c)}" for c in contenders if not c.key.endswith("-phonemes")]

    runs: dict[str, list[Run]] = {contender.key: [] for contender in contenders}
    outputs: dict[str, tuple[str, str]] = {}
    recordings = {None: "16-bit WAV at 22,050 Hz", "44100": "16-bit WAV at 44,100 Hz"}.get(arguments.recordings)
    for number in range(1, arguments.runs + 1):
        for contender in contenders:
            result = run(contender, corpus, WORK / contender.key, arguments.jobs, utterances)
            runs[contender.key].append(result)
            print(f"round {number}: {contender.name}: {result.seconds:.2f} s", file=sys.stderr)
        # Every round makes the same.
        outputs = outputs or {c.key: describe_output(c, WORK / contenders[0].key, WORK / c.key) for c in contenders}
        rounds = f"{number} rounds in turn" if number > 1 else "1 round"
        table = Result(
            COLUMNS,
            make_rows(contenders, runs, outputs, audio_seconds),
            {c.name: statistics.median(run.seconds for run in runs[c.key]) for c in contenders},
            f"{utterances:,} utterances, {audio_seconds / 3600:.2f} hours of audio, "
            f"{recordings or arguments.recordings.upper()}, {arguments.jobs} jobs, {rounds}.",
            describe_machine(),
            versions,
            {"hours": audio_seconds / 3600, "jobs": arguments.jobs, "recordings": arguments.recordings or "wav"},
        )
        table.write(WORK / "rounds.json")
    table.show(arguments.result)


if __name__ == "__main__":
    main()
