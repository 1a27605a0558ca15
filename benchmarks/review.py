"""How long the page of a review takes to open, sort, filter and search a large store, and how much memory it has.

    python benchmarks/review.py [--utterances 13100 100000]

Prints the rows of the table in docs/review.md: medians of five runs, each for another column or condition, so that no
answer comes from a cache. The store has short arrays, texts of the length of LJ Speech's, twenty speakers, and
simulated measures in its index, which make most utterances suspects; a tenth of the utterances is decided. Memory is
what opening and all queries add to a process.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

WORK = Path(__file__).resolve().parent / "output" / "review"
WORDS = (
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "he",
    "was",
    "that",
    "it",
    "his",
    "had",
    "with",
    "for",
    "on",
    "which",
    "not",
)
SORTED = ("snr", "loudness", "peak", "seconds", "phone_rate")
MEASURED = 5


def simulate(folder: Path, n: int) -> None:
    """Write a store whose index has texts and measures."""
    from stores import make_rows, write_store

    from tts_prep.additions.add_columns import add_index_array
    from tts_prep.checks.catalogue import MEASURES
    from tts_prep.checks.findings import Measures
    from tts_prep.checks.measuring import measures_spec, measures_table
    from tts_prep.loader import UtteranceDataset

    shutil.rmtree(folder, ignore_errors=True)
    rng = np.random.default_rng(0)
    few = make_rows([3, 4, 5])
    lengths = rng.integers(5, 30, n).tolist()
    texts = [" ".join(rng.choice(WORDS, k).tolist()) + f" {i}" for i, k in enumerate(lengths)]
    speakers = [f"p{225 + i % 20}" for i in range(n)]
    rows = [
        replace(few[i % 3], id=f"{speaker}_{i:06d}", speaker=speaker, text=text, phoneme_text=text.replace("th", "ð"))
        for i, (speaker, text) in enumerate(zip(speakers, texts, strict=True))
    ]
    write_store(folder, rows)

    def values() -> np.ndarray:
        columns = {measure.name: rng.normal(20, 4.86, n) for measure in MEASURES}
        partners = {measure.name: np.full(n, -1) for measure in MEASURES if measure.copy_column}
        return measures_table(Measures(UtteranceDataset(folder), columns, partners, {}, 1.0))

    add_index_array(folder, measures_spec, values)


def memory() -> float:
    """Return the resident memory of this process in MB, without the pages of mapped files."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1000
    raise SystemExit("expected /proc/self/status, which Linux has")


def milliseconds(run: Callable[[int], object]) -> str:
    """Return the median time of five runs, whose numbers are given to the function."""
    times = []
    for number in range(MEASURED):
        started = time.perf_counter()
        run(number)
        times.append(time.perf_counter() - started)
    return f"{1000 * statistics.median(times):,.0f} ms"


def measure(store: Path) -> list[str]:
    """Return the cells of a row of the table."""
    from tts_prep.loader import UtteranceDataset
    from tts_prep.review.decisions import Decision, DecisionFile, write_decisions
    from tts_prep.review.pages import Pages
    from tts_prep.review.sounds import Sounds

    file = store.parent / f"{store.name}.csv"
    write_decisions(file, {id_: Decision("yes", note="fine") for id_ in UtteranceDataset(store).id[::10]})
    before = memory()
    started = time.perf_counter()
    dataset = UtteranceDataset(store)
    pages = Pages(dataset, DecisionFile(file), Sounds(dataset))
    pages.measure()
    pages.get("state", {})
    first = pages.get("rows", {"columns": "id,speaker,seconds,reasons,text,snr"})
    opened = f"{time.perf_counter() - started:.1f} s"
    assert first.status == 200

    def rows(**query: str) -> None:
        answer = pages.get("rows", {"columns": "id,speaker,seconds,text,snr", **query})
        assert answer.status == 200, answer.body

    by_number = milliseconds(lambda i: rows(sort=SORTED[i]))
    by_text = milliseconds(lambda i: rows(sort=("id", "text", "phoneme_text", "reasons", "speaker")[i]))
    filtered = milliseconds(lambda i: rows(filter=f'snr < {15 + i} and speaker == "p225"'))
    searched = milliseconds(lambda i: rows(search=f"which {i}"))
    turned = milliseconds(lambda i: rows(start=str(100 * i)))
    histograms = milliseconds(lambda i: pages.get("histograms", {"filter": f"snr < {20 + i}"}))
    decided = milliseconds(lambda i: pages.post("decide", f'{{"row": {i}, "keep": "no"}}'.encode()))
    used = f"{memory() - before:,.0f} MB"
    return [opened, by_number, by_text, filtered, searched, turned, histograms, decided, used]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, nargs="+", default=[13_100, 100_000])
    for n in parser.parse_args().utterances:
        store = WORK / str(n)
        if not (store / "manifest.json").exists():
            WORK.mkdir(parents=True, exist_ok=True)
            simulate(store, n)
        print(f"| {n:,} | {' | '.join(measure(store))} |", flush=True)


if __name__ == "__main__":
    main()
