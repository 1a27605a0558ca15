"""Time every line that a newcomer types, from a clone to a report and a batch, where there are git and Python alone.

    python benchmarks/from_nothing.py [--rounds 1] [--result from-nothing]

Each round has an empty home, and so empty caches of pip and of the compiler, and no packages but those that its lines
install. The clone is one of this repository's last commit; packages come from where pip's settings say, or from the
folder ``--cache`` of an earlier round's downloads.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Result, describe_machine

ROOT = Path(__file__).resolve().parents[1]
BATCH = 'from tts_prep.loader import *; print(next(iter(DataLoader(UtteranceDataset("demo/store"), batch_size=8))))'
LINES = (
    "git clone {repository} tts-prep",
    "cd tts-prep",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
    "pip install '.[prepare,report]'",
    "tts-prep demo demo",
    "tts-prep report demo/store -o report.html",
    f"python -c {shlex.quote(BATCH)}",
)


def timed(folder: Path, repository: str, cache: Path) -> tuple[list[float], str]:
    """Run the lines in one shell, and return the seconds of each and what the last prints."""
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    home, programs = folder / "home", folder / "programs"
    for made in (home, programs):
        made.mkdir()
    (programs / "python3").symlink_to(python)
    network = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir", "requests_ca_bundle", "lang")
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower() in network}
    kept["PATH"] = f"{programs}:{os.defpath}"
    kept |= {"HOME": str(home), "PIP_CACHE_DIR": str(cache), "XDG_CONFIG_HOME": str(Path("~/.config").expanduser())}
    # The clock is read between the lines.
    times = folder / "times"
    clock = f"{python} -I -c 'import time; print(time.time())' >> {times}"
    typed = "\n".join(f"{line.format(repository=shlex.quote(repository))}\n{clock}" for line in LINES)
    script = folder / "typed.sh"
    script.write_text(f"set -e\n{clock}\n{typed}\n", encoding="utf-8")
    done = subprocess.run(["bash", str(script)], cwd=folder, env=kept, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    clocks = [float(line) for line in times.read_text("utf-8").split()]
    return [b - a for a, b in itertools.pairwise(clocks)], done.stdout


def size(folder: Path) -> str:
    """Return the size of the files in a folder."""
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 2**20:,.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time every line from nothing to a batch.")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="pip's cache, which is kept; by default an empty one in each round")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    rounds, shown, installed = [], "", ""
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            seconds, shown = timed(folder, str(ROOT), (options.cache or folder / "cache").resolve())
            rounds.append(seconds)
            installed = size(folder / "tts-prep/.venv")
    printed = shown.rstrip().splitlines()[-1]
    if not re.match(r"<Batch: mel \[8, \d+, 80\]", printed):
        sys.exit(f"expected a batch of 8 utterances, found {printed}")
    median = [statistics.median(times) for times in zip(*rounds, strict=True)]
    names = [f"`{line.format(repository='URL')}`" for line in LINES]
    rows = [[name, f"{value:.1f}"] for name, value in zip(names, median, strict=True)]
    total = statistics.median(sum(times) for times in rounds)
    Result(
        ["typed", "seconds"],
        [*rows, ["all of it", f"{total:.1f}"]],
        {**dict(zip(names, median, strict=True)), "all of it": total},
        f"An empty home, {'a kept' if options.cache else 'an empty'} cache of pip, median of {options.rounds} "
        f"{'round' if options.rounds == 1 else 'rounds'}; the environment has {installed} then. "
        f"The last line prints `{printed}`.",
        describe_machine(),
        [f"Python {sys.version.split()[0]}"],
    ).show(options.result)


if __name__ == "__main__":
    main()
