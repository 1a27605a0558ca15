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

from tts_prep.cli.features import asked_features
from tts_prep.cli.options import SETTINGS
from tts_prep.cli.progress import make_progress
from tts_prep.cli.understood import notes, noting_rate, understood, with_first_lines
from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import FAILURES, OOD_TEXTS
from tts_prep.format.manifest import Manifest
from tts_prep.format.ood_texts import check_ood_texts
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.configuration.text_of_corpus import text_of_corpus
from tts_prep.preprocess.corpora import read_corpus
from tts_prep.preprocess.runs.collecting import with_collected_symbols
from tts_prep.preprocess.runs.parts import Part
from tts_prep.preprocess.runs.prepare import Result, available_jobs, prepare
from tts_prep.preprocess.text.symbols import AUTO
from tts_prep.preprocess.workers.cluster import Backend
from tts_prep.quantities import bytes_text, count_text, duration_text


def prepare_and_report(
    reader: str,
    corpus: Path,
    store: Path,
    options: Mapping[str, Any],
    *,
    root: Path | None = None,
    reader_options: Mapping[str, Any] | None = None,
) -> None:
    """Make a store with the options of `tts_prep.cli.options.corpus_options`, and print a summary.

    Args:
        reader: its name.
        corpus, root: as `tts_prep.preprocess.corpora.read_corpus` has them.
        reader_options: further options of the reader; they become part of the store's configuration.
    """
    lists = split_lists(options["splits"])
    first: list[str] = []
    config = configuration(reader, options, lists, reader_options, text_of_corpus(reader, corpus, reader_options))
    source: dict[str, Any] = {"root": root, "splits": lists, "options": reader_options}
    source["texts"] = config.text.has_phonemes
    items, folder = read_corpus(reader, corpus, **source, report=first.append)
    started = time.monotonic()
    part = Part.parse(options["part"]) if options["part"] else None
    with make_progress(sys.stderr) as progress:
        how: dict[str, Any] = {
            "jobs": options["jobs"] or available_jobs(),
            "backend": Backend(options["backend"], options["scheduler"]),
            "max_failures": options["max_failures"],
            "progress": with_first_lines(first, progress),
        }
        first[:0] = [understood(corpus, config), *notes(corpus, store)]
        items = noting_rate(items, folder, config.mel.sample_rate, first.append)
        if config.text.symbols == AUTO:
            rows, _ = read_corpus(reader, corpus, **source)
            config = with_collected_symbols(config, rows, jobs=how["jobs"], backend=how["backend"])
        asked = asked_features(options, config)
        how |= {"features": asked.features, "alignments": asked.alignments}
        replaces = {"overwrite": options["overwrite"], "update": options["update"]}
        result = prepare(items, folder, store, asked.config, part=part, **replaces, **how)
    elapsed = time.monotonic() - started
    for line in [part_text(result, part, elapsed)] if part else summary(result, elapsed):
        click.echo(line)


def split_lists(values: Iterable[str]) -> dict[str, Path]:
    """Return the lists of ids that ``--split NAME=FILE`` gives, by name.

    Raises:
        ConfigurationError: a value has another form, or a name stands twice.
    """
    lists: dict[str, Path] = {}
    for value in values:
        name, equals, file = value.partition("=")
        if not (name and equals and file) or name in lists:
            raise ConfigurationError(f"split: expected NAME=FILE, each name once, found {value!r}")
        lists[name] = Path(file)
    return lists


def configuration(
    reader: str,
    options: Mapping[str, Any],
    splits: Mapping[str, Path],
    reader_options: Mapping[str, Any] | None = None,
    text: Mapping[str, Any] | None = None,
) -> Configuration:
    """Return the configuration that the options of a command ask for, over the settings of the corpus's own texts."""
    settings = {
        table: {name: options[option] for name, option in names.items() if options[option] is not None}
        for table, names in SETTINGS.items()
    }
    return configure(
        reader,
        limit=options["limit"],
        preset=options["preset"],
        vocoder=options["vocoder_config"],
        file=options["config"],
        settings=settings,
        options=reader_options,
        splits=splits,
        text=text,
    )


def summary(result: Result, elapsed: float) -> list[str]:
    """Return the closing lines of a run."""
    manifest = result.manifest
    assert manifest is not None
    totals, made = manifest.totals, made_text(result.store, manifest)
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
    lines += [remark_line(kind, remark) for kind, remark in manifest.remarks.items()]
    if manifest.ood_texts:
        lines.append(ood_line(result.store))
    if totals["failures"]:
        lines.append(left_out(result.store, totals["failures"]))
    return lines


def remark_line(kind: str, remark: Mapping[str, Any]) -> str:
    """Return one line on what the frontend noted: how often, and the most frequent examples."""
    examples = [f"'{found['symbol']}' × {found['count']:,} (first in {found['id']})" for found in remark["examples"]]
    shown = ", ".join(examples[:4]) + (", …" if remark["different"] > 4 else "")
    return f"{kind.replace('_', ' ')}: {remark['count']:,}, {remark['different']:,} different: {shown}"


def ood_line(store: Path) -> str:
    """Return one line on the out-of-domain texts, with the first line of the file that could not be used."""
    header = check_ood_texts(store / OOD_TEXTS)
    failures = header.failures
    left = f"; {len(failures):,} lines left out, the first: {failures[0]['reason']}" if failures else ""
    return f"out-of-domain texts: {header.rows:,}{left}"


def made_text(store: Path, manifest: Manifest) -> str:
    """Return one line on what a store holds."""
    totals = manifest.totals
    return (
        f"{store}: {totals['utterances']:,} utterances, {duration_text(totals['seconds'])} of audio, "
        f"{totals['frames']:,} frames, {totals['phonemes']:,} phonemes, {count_text(totals['shards'], 'shard')}, "
        f"{bytes_text(sum(entry.size for entry in manifest.files))}"
    )


def part_text(result: Result, part: Part, elapsed: float) -> str:
    """Return the closing line of a part."""
    there = result.shards - result.shards_made
    return (
        f"{result.store}: part {part.number}/{part.count}, {count_text(result.shards, 'shard')}"
        f"{f' ({there:,} were there already)' if there else ''}, {duration_text(result.seconds)} of audio, "
        f"{result.failures:,} rows left out, in {duration_text(elapsed)}; when all parts are there: "
        f"tts-prep finish {result.store}"
    )


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
