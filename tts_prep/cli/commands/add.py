"""``tts-prep add``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tts_prep.cli.options import PATH, WRITTEN_STORE, Integer, feature_options
from tts_prep.cli.verbosity import quiet_option, say

if TYPE_CHECKING:
    from tts_prep.cli.features import ParsedFeatures
    from tts_prep.format.records.arrays import ArraySpec
    from tts_prep.preprocess.configuration.records import Configuration


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@click.option("--corpus", type=PATH, metavar="CORPUS", help="The corpus from which STORE was made.")
@click.option("--root", type=PATH, metavar="DIR", help="The --root of the command that made the store.")
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME=FILE",
    help="A list of ids that the store was made with; may be repeated.",
)
@click.option("--reader", metavar="MODULE:FUNCTION", help="The reader function of a store of a custom reader.")
@feature_options
@click.option("--measures", is_flag=True, help="Add the measures of 'tts-prep check' as columns of the index.")
@click.option(
    "--columns",
    "tables",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Add columns of numbers or texts from CSV, TSV, JSON lines or parquet, by id or audio; may be repeated.",
)
@click.option("--replace", is_flag=True, help="Replace columns that --columns has added before.")
@click.option("--jobs", "-j", type=Integer(min=1), metavar="N", help="Worker processes.  [default: one per processor]")
@quiet_option
def add(
    store: Path,
    corpus: Path | None,
    root: Path | None,
    splits: tuple[str, ...],
    reader: str | None,
    measures: bool,
    tables: tuple[Path, ...],
    replace: bool,
    jobs: int | None,
    **options: Any,
) -> None:
    r"""Add features, durations, imported arrays, measures or columns to a complete STORE.

    Mels are not computed again. STORE changes only when the arrays are complete; after an interruption, run the same
    command to resume. Pitch, energy and spectrograms are computed from the recordings, so they need --corpus.

    \b
    Examples:
      tts-prep add store --corpus LJSpeech-1.1 --feature pitch:unvoiced=interpolated --feature energy
      tts-prep add store --alignments TextGrid
      tts-prep add store --array speaker_vector@utterance=vectors.npz
      tts-prep add store --measures
      tts-prep add store --columns scores.csv
    """
    from tts_prep.errors import ConfigurationError

    if any(options.values()):
        _add_features(store, corpus, root, splits, reader, jobs, options)
    elif not measures and not tables:
        raise ConfigurationError("nothing to add; give --feature, --alignments, --array, --measures or --columns")
    for table in tables:
        _add_columns(store, table, replace)
    if measures:
        _add_measures(store)


def _add_columns(store: Path, file: Path, replace: bool) -> None:
    from tts_prep.cli.progress import make_step_progress
    from tts_prep.errors import one_line
    from tts_prep.preprocess.runs.add_columns import add_columns

    with make_step_progress(sys.stderr) as progress:
        added = add_columns(store, file, replace=replace, progress=progress)
    for name in added.names:
        kind = f"{len(added.categories[name]):,} categories" if name in added.categories else "numbers"
        kind = "texts" if name in added.texts else kind
        missing = f", missing in {added.missing[name]:,} utterances" if added.missing[name] else ""
        say(f"{store}: {name}, {kind}{missing}")
    ids, n_unknown = added.unknown
    if n_unknown:
        more = ", …" if n_unknown > len(ids) else ""
        say(one_line(f"{file}: {n_unknown:,} rows of no utterance of the store: {', '.join(ids)}{more}"))
    if added.own:
        corrected = [name for name in ("text", "speaker") if name in added.own]
        how = f"; --corrections of the corpus command uses {' and '.join(corrected)}" if corrected else ""
        say(one_line(f"{file}: not added, every store has them: {', '.join(added.own)}{how}"))


def _add_measures(store: Path) -> None:
    from tts_prep.checks.index_columns import ARRAY, measures_spec, measures_table
    from tts_prep.checks.measuring import measure
    from tts_prep.cli.progress import make_step_progress
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess.runs.add_columns import add_index_array

    with make_step_progress(sys.stderr) as progress:

        def values() -> Any:
            return measures_table(measure(UtteranceDataset(store), use_stored=False, progress=progress))

        manifest = add_index_array(store, measures_spec, values, progress)
    names = manifest.specs[ARRAY].index_columns
    say(f"{store}: {len(names)} columns of measures: {', '.join(names)}")


def _add_features(
    store: Path,
    corpus: Path | None,
    root: Path | None,
    splits: tuple[str, ...],
    reader: str | None,
    jobs: int | None,
    options: Mapping[str, Any],
) -> None:
    from tts_prep.cli.features import align, parse_features
    from tts_prep.cli.preparing import split_lists
    from tts_prep.cli.progress import make_shard_progress
    from tts_prep.format.records.manifest import read_manifest
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.corpora import import_reader
    from tts_prep.preprocess.corpora.corrections import Corrections
    from tts_prep.preprocess.runs.add_arrays import add_features
    from tts_prep.preprocess.runs.array_files import specs_of
    from tts_prep.preprocess.runs.planned_store import CorpusRows
    from tts_prep.preprocess.runs.prepare import available_jobs

    config = Configuration.from_dict(store, read_manifest(store).configuration)
    parsed = parse_features(options, config)
    _check_features(store, config, parsed, has_corpus=corpus is not None)
    source = None
    if parsed.recordings and corpus is not None:
        own = import_reader(reader) if reader else None
        corrections = Corrections.of_store(store)
        lists = split_lists(splits)
        source = CorpusRows.read(config, corpus, root=root, splits=lists, reader=own, corrections=corrections)
    jobs, aligned = jobs or available_jobs(), parsed.alignments
    with make_shard_progress(sys.stderr) as progress:
        manifest = add_features(store, parsed.features, source, alignments=aligned, jobs=jobs, progress=progress)
    for name, spec in specs_of(parsed.features).items():
        _say_array(store, spec, manifest.arrays[name].get("remarks", {}))
    if parsed.aligner:
        align(store, parsed.aligner, jobs)


def _check_features(store: Path, config: Configuration, parsed: ParsedFeatures, *, has_corpus: bool) -> None:
    """Check that the features can be added to a store that is made."""
    from tts_prep.errors import ConfigurationError

    if parsed.config.alignments != config.alignments and parsed.alignments:
        raise ConfigurationError(
            "durations: phonemes=alignment, silences=cut and surplus=cut change mels and phonemes; pass them to the "
            "command that makes the store"
        )
    if parsed.recordings and not has_corpus:
        raise ConfigurationError(
            f"feature: {', '.join(parsed.recordings)} is computed from recordings; give --corpus CORPUS, which "
            f"{store} was made from"
        )


def _say_array(store: Path, spec: ArraySpec, remarks: Mapping[str, Any]) -> None:
    """Print a line about an added array, and one about each kind of remark."""
    shape = "".join(f" × {n}" for n in spec.row_shape)
    say(f"{store}: {spec.name}, {spec.dtype}{shape}, by {spec.axis}")
    for remark in remarks.values():
        examples = ", ".join(f"{example['symbol']}: {example['count']:,}" for example in remark["examples"][:4])
        say(f"  {examples}")
