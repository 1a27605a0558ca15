"""Train small models with the sources' own code, on their own batches and on those of the recipes.

    python conformance/training --corpus LJSPEECH --sources FOLDER [--rate 44100] [--only f5tts,piper] [--integers]

The six shortest recordings of a corpus like LJ Speech are first brought to another rate than those of the presets.
Then the source's own dataset and collate function read them, resampled by the source itself or, where it refuses other
rates, by librosa, as its users do; the recipe reads a store that was built from the same recordings. A small model of
the source's own classes makes three steps of AdamW on three batches of two, from the same seeds on both sides. Where a
source draws at random while it reads, it is given the draws of the recipe.

FOLDER has the checkouts; systems.py says which, and what each system needs besides. It is left as it is: a copy is
trained, whose files in Cython are compiled, and in which a few lines do without a GPU, or compute with a new library
what they did with the old one. Of systems without a checkout, the installed package is trained. Each system has a
process of its own, because their modules have the same names.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from systems import SYSTEMS


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the losses of a system on both sides."""
    from runs import Run, write_corpus

    steps = importlib.import_module(f"{name}_steps")
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(options.corpus, options.rate, Path(folder) / "corpus")
        SYSTEMS[name].copy(options.sources, Path(folder) / "sources")
        run = Run(Path(folder) / "sources", corpus, Path(folder), options.integers)
        found = steps.compare(run)
    return {"system": name, "rate": options.rate, "integers": options.integers, "losses": found}


def rows(found: dict[str, Any]) -> str:
    """Return lines of a table: the sums of the losses at each step, and by how much of them single losses differ."""
    lines = []
    for kind, sides in found["losses"].items():
        totals = [[sum(step.values()) for step in side] for side in sides]
        apart = [
            max(abs(one[name] - other[name]) for name in one) / abs(total)
            for one, other, total in zip(*sides, totals[0], strict=True)
        ]
        sums = [", ".join(f"{total:.5f}" for total in side) for side in totals]
        lines.append(f"| {found['system']} | {kind} | {' | '.join(sums)} | {apart[0]:.1g} | {max(apart):.1g} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--sources", type=Path, default=Path("sources"))
    parser.add_argument("--rate", type=int, default=44_100)
    parser.add_argument("--only", default=",".join(SYSTEMS))
    parser.add_argument("--integers", action="store_true", help="resampled recordings have 16 bits")
    parser.add_argument("--json", action="store_true", help="print the losses of one system")
    options = parser.parse_args()
    names = options.only.split(",")
    needed = {name: list(SYSTEMS[name].missing(options.sources)) for name in names}
    for name, missing in needed.items():
        if missing:
            print(f"{name} needs {', '.join(missing)}", file=sys.stderr)
    names = [name for name in names if not needed[name]]
    if options.json:
        if not names:
            sys.exit(1)
        print(json.dumps(compared(names[0], options)))
        return
    print("| system | batches | losses with its own | with the recipe's | first step | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    given = [str(part) for part in (sys.executable, Path(__file__).parent, *sys.argv[1:])]
    for name in names:
        done = subprocess.run([*given, "--only", name, "--json"], stdout=subprocess.PIPE, text=True)
        lines = rows(json.loads(done.stdout.splitlines()[-1])) if not done.returncode else f"| {name} | failed |"
        print(lines, flush=True)


if __name__ == "__main__":
    main()
