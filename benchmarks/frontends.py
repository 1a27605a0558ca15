"""Give a frontend 11,000 texts; print the processor time of each step, and its memory after 1,000 and every 2,500 more.

    python benchmarks/frontends.py NAME… --texts FILE

FILE has a text a line, or is LJ Speech's metadata.csv. Texts in Chinese, Japanese and Korean are three sentences each
out of docs/languages.txt. Each frontend runs in a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

SENTENCES: Final = Path(__file__).resolve().parents[1] / "docs" / "languages.txt"
LANGUAGES: Final = {"mandarin": "zh", "japanese": "ja", "korean": "ko"}
WARM_UP, COUNT, STEP = 1000, 10_000, 2500
STEPS: Final = ("normalize", "phoneticize", "numericalize", "count remarks")


def memory() -> float:
    """Return the resident memory of this process, MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def texts(frontend: str, file: Path) -> list[str]:
    """Return the texts for a frontend."""
    language = LANGUAGES.get(frontend.partition("-")[0])
    if language is None:
        lines = [line.split("|") for line in file.read_text(encoding="utf-8").splitlines()]
        found = [fields[1] if len(fields) > 1 else fields[0] for fields in lines]
        return (found * (1 + (WARM_UP + COUNT) // len(found)))[: WARM_UP + COUNT]
    rows = [line.split("|") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    sentences = [text for code, text in rows if code == language]
    source = random.Random(0)
    return [" ".join(source.choices(sentences, k=3)) for _ in range(WARM_UP + COUNT)]


def measure(name: str, file: Path) -> None:
    """Print a row of the table for one frontend."""
    from tts_prep.errors import TextError
    from tts_prep.preprocess import get_frontend

    all_texts = texts(name, file)
    gc.collect()
    before = memory()
    frontend = get_frontend(name)

    spent = dict.fromkeys(STEPS, 0.0)

    def timed(step: str, function: Callable[..., Any], *arguments: Any) -> Any:
        started = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent[step] += time.process_time() - started

    def speak(chosen: list[str]) -> None:
        for text in chosen:
            # For the frontend phonemes, a raw text has unknown symbols.
            with contextlib.suppress(TextError):
                spoken = timed("normalize", frontend.normalize, text)
                phonemes = timed("phoneticize", frontend.phoneticize, spoken)
                timed("count remarks", list, frontend.remarks(spoken, phonemes))
                timed("numericalize", frontend.numericalize, phonemes)
        gc.collect()

    speak(all_texts[:WARM_UP])
    found = [memory()]
    spent.update(dict.fromkeys(STEPS, 0.0))
    for start in range(WARM_UP, WARM_UP + COUNT, STEP):
        speak(all_texts[start : start + STEP])
        found.append(memory())
    milliseconds = [spent[step] / COUNT * 1000 for step in STEPS]
    times = " | ".join(f"{value:.2f}" for value in [*milliseconds, sum(milliseconds)])
    grown = max(value - found[0] for value in found[1:])
    later = max(value - found[1] for value in found[1:])
    print(f"| `{name}` | {times} | {found[0] - before:.0f} | {grown:.1f} | {later:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--texts", type=Path, required=True, metavar="FILE")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure(options.names[0], options.texts)
        return
    columns = [*STEPS, "total", "memory, MB", "growth, MB", "of it after the first 2,500"]
    print("| frontend | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns), flush=True)
    for name in options.names:
        command = [sys.executable, __file__, name, "--here", "--texts", str(options.texts)]
        if subprocess.run(command, check=False).returncode:
            print(f"| `{name}` | failed |" + " |" * (len(columns) - 1), flush=True)


if __name__ == "__main__":
    main()
