"""Result files of the benchmarks, which ``docs/make_benchmarks.py`` reads: each table is a JSON file in ``results/``.

Only the standard library is imported here: some benchmarks measure memory, and a process starts with its parent's peak.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
BYTECODE = FOLDER.parent / "output" / "bytecode"


def environment() -> dict[str, str]:
    """Return this process's environment, with bytecode cached, as in an environment that pip has made.

    Without it, a process compiles the sources of all packages that it imports: 1.4 s for a worker of tts-prep.
    """
    values = {**os.environ, "PYTHONPYCACHEPREFIX": str(BYTECODE)}
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    return values


@dataclass(frozen=True)
class Result:
    """One table, and the numbers behind it.

    Attributes:
        columns: titles; the first is that of the names of the rows.
        rows: cells as they are shown.
        measured: name of a row → its seconds, or another number of which less is better; what runs are compared by.
        settings: what was measured, in a sentence.
        machine: cores, vector units and memory.
        versions: of the libraries, by contender.
        numbers: for plots, such as hours and jobs.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    measured: Mapping[str, float]
    settings: str
    machine: str
    versions: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> str:
        """Return the table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)

    def show(self, name: str | None) -> None:
        """Print the table with its context, and write it to the result file of a name, or of a path without suffix."""
        print(f"{self.settings}\n\n{self.table()}\n\nMachine: {self.machine}.\n")
        for line in self.versions:
            print(f"- {line}")
        if name:
            self.write(FOLDER / f"{name}.json")

    def write(self, path: Path) -> None:
        """Write the result file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")


def read_result(text: str) -> Result:
    """Return the result that a file holds."""
    return Result(**json.loads(text))


def describe_machine() -> str:
    """Return processor, cores, vector units and memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = [f"{cores} core{'s' if cores != 1 else ''}", f"{platform.system()} {platform.machine()}"]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
        flags = next((line for line in lines if line.startswith("flags")), "").split()
        facts[0] += f" of {model}" if model else ""
        facts.append(", ".join(flag for flag in ("avx2", "avx512f") if flag in flags) or "no avx2")
    if hasattr(os, "sysconf"):
        facts.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory")
    return "; ".join(facts)
