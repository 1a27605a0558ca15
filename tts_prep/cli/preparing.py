"""What all corpus commands do once they have a reader: run the pipeline, show progress, say what was made."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import SETTINGS
from tts_prep.cli.progress import make_progress
from tts_prep.format.layout import FAILURES
from tts_prep.preprocess.configuration import Configuration
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.pipeline import Result, available_jobs, prepare
from tts_prep.preprocess.settings import configure
from tts_prep.quantities import bytes_text, count_text, duration_text


def prepare_and_report(
    items: Iterable[Utterance | Failure], corpus: str, root: Path, store: Path, options: Mapping[str, Any]
) -> None:
    """Make a store with the options of `tts_prep.cli.options.corpus_options`, and print what came of it."""
    started = time.monotonic()
    with make_progress(sys.stderr) as progress:
        result = prepare(
            items,
            root,
            store,
            configuration(corpus, options),
            jobs=options["jobs"] or available_jobs(),
            max_failures=options["max_failures"],
            overwrite=options["overwrite"],
            progress=progress,
        )
    for line in summary(result, time.monotonic() - started):
        click.echo(line)


def configuration(corpus: str, options: Mapping[str, Any]) -> Configuration:
    """Return the configuration that the options of a command ask for."""
    settings = {
        table: {name: options[option] for name, option in names.items() if options[option] is not None}
        for table, names in SETTINGS.items()
    }
    return configure(
        corpus,
        limit=options["limit"],
        preset=options["preset"],
        vocoder=options["vocoder_config"],
        file=options["config"],
        settings=settings,
    )


def summary(result: Result, elapsed: float) -> list[str]:
    """Return the closing lines of a run."""
    totals = result.manifest.totals
    size = sum(entry.size for entry in result.manifest.files)
    made = f"{result.store}: {totals['utterances']:,} utterances, {duration_text(totals['seconds'])} of audio, "
    made += f"{totals['frames']:,} frames, {totals['phonemes']:,} phonemes, {count_text(totals['shards'], 'shard')}, "
    made += bytes_text(size)
    if not result.shards_made:
        lines = [made, "the store was whole already; nothing was made"]
    else:
        kept = totals["shards"] - result.shards_made
        speed = f"made in {duration_text(elapsed)}"
        # A run that found finished shards did not compute all the audio that it would be credited with.
        speed += (
            f"; {kept:,} shards were there already" if kept else f", {totals['seconds'] / elapsed:,.0f} × real time"
        )
        lines = [made, speed]
    if totals["failures"]:
        lines.append(left_out(result.store, totals["failures"]))
    return lines


def left_out(store: Path, count: int) -> str:
    """Return one line on the rows that were left out, by stage, with the first one's reason."""
    with (store / FAILURES).open(encoding="utf-8") as file:
        failures = [json.loads(line) for line in file]
    stages = ", ".join(f"{stage} {number}" for stage, number in Counter(row["stage"] for row in failures).items())
    first = failures[0]
    return (
        f"left out: {count:,} of the corpus's rows ({stages}), listed in {store / FAILURES}; the first: "
        f"{first['id'] or first['where']}: {first['reason']}"
    )
