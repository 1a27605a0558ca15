"""``tts-prep add``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tts_prep import doors
from tts_prep.cli.options import OPTIONS, WRITTEN_STORE, additions, record_option, takes, with_options
from tts_prep.cli.output import make_progress, quiet_option, say, say_array
from tts_prep.errors import ConfigurationError, one_line
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.cli.preparing import ParsedFeatures
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.plan.planned_store import CorpusRows


class _AddCommand(click.Command):
    """The command, whose help shows the settings of the features that precede ``--help``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["features"] = [after for word, after in pairwise(args) if word == "--feature"]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from tts_prep.preprocess.features.kinds import get_feature, parse_feature

        super().format_options(ctx, formatter)
        for text in ctx.meta.get("features", []):
            name, _ = parse_feature(text)
            rows = [
                (key, f"{text}  [default: {default}]" if default else text)
                for key, default, text in get_feature(name).explained()
            ]
            with formatter.section(f"Settings of --feature {name}:KEY=VALUE,…"):
                formatter.write_dl(rows or [("none", "")])


def _with_additions(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that rooms bring."""
    for brought in reversed([one for addition in additions() for one in addition.options]):
        function = record_option(brought)(function)
    return function


@dataclass(frozen=True)
class _Source:
    """What a store was made from."""

    corpus: Path | None = None
    root: Path | None = None
    splits: tuple[str, ...] = ()
    reader: str | None = None

    def rows(self, store: Path, config: Configuration) -> CorpusRows | None:
        """Return the rows of the corpus, if it is given."""
        from tts_prep.cli.preparing import split_lists
        from tts_prep.preprocess.corpora.corpus import import_reader
        from tts_prep.preprocess.plan.planned_store import CorpusRows, stored_corrections

        if self.corpus is None:
            return None
        own = import_reader(self.reader) if self.reader else None
        corrections, splits = stored_corrections(store), split_lists(self.splits)
        # A list is taken as by the command that made the store; readers take its folder.
        is_list = self.corpus.name in config.options.get("files", ())
        corpus = self.corpus.parent if is_list else self.corpus
        return CorpusRows.read(config, corpus, root=self.root, splits=splits, reader=own, corrections=corrections)


_OPTIONS: Final = OptionTable(__file__)


@click.command(cls=_AddCommand)
@click.argument("store", type=WRITTEN_STORE)
@takes(_Source, _OPTIONS["source"])
@with_options(OPTIONS, "features")
@with_options(_OPTIONS, "tables")
@with_options(OPTIONS, "provenance")
@with_options(_OPTIONS, "how")
@_with_additions
@quiet_option
def add(
    source: _Source, store: Path, tables: tuple[Path, ...], licence: str | None, origin: str | None, **options: Any
) -> None:
    r"""Add features, durations, models' outputs, imported arrays, measures, columns or a licence to a complete STORE.

    Mels are not computed again. STORE changes only when the arrays are complete; after an interruption, run the same
    command to resume. Pitch, energy and spectrograms are computed from the recordings, so they need --corpus.
    So do models that read waveforms, unless STORE has waveforms.
    With --feature MODULE:CLASS, MODULE is imported, also from the working folder; after it, --help shows its settings.

    \b
    Examples:
      tts-prep add store --corpus LJSpeech-1.1 --feature pitch:unvoiced=interpolated --feature energy
      tts-prep add store --alignments TextGrid
      tts-prep add store --array speaker_vector@utterance=vectors.npz
      tts-prep add store --feature my_codec:Tokens:levels=64 --devices cuda:0,cuda:1 --batch-seconds 300
      tts-prep add store --measures
      tts-prep add store --columns scores.csv
      tts-prep add store --license cc-by-4.0 --origin "Read by one speaker in 2024, cut by hand"
    """
    asked = [addition for addition in additions() if addition.add and options[addition.options[0].name]]
    if any(options[option.name] for option in OPTIONS["features"]):
        _add_features(store, source, options)
    elif not asked and not tables and not licence and not origin:
        flags = [option.all_flags[0] for option in OPTIONS["features"]]
        flags += [addition.options[0].all_flags[0] for addition in additions() if addition.add]
        raise ConfigurationError(f"nothing to add; give {', '.join(flags)}, --columns, --license or --origin")
    if licence or origin:
        _add_provenance(store, licence or "", origin or "")
    columns = [column for table in tables for column in _add_columns(store, table, options)]
    for addition in asked:
        if addition.add:
            addition.add(store, options)
    doors.asked("sources", "imports")(store, options, columns)
    doors.asked("sources", "outdated")(store)


def _add_provenance(store: Path, licence: str, origin: str) -> None:
    from tts_prep.additions.add_arrays import add_provenance
    from tts_prep.format.records.provenance import Provenance

    manifest = add_provenance(store, Provenance(licence, origin))
    for key, text in manifest.provenance.items():
        say(one_line(f"{store}: {key}: {text}"))


def _add_columns(store: Path, file: Path, options: Mapping[str, Any]) -> list[tuple[str, Path, bool]]:
    """Add the columns of a file; return those that were added, the file, and whether they have values of others."""
    from tts_prep.additions.add_columns import add_columns

    depends_on = options["depends_on"]
    given = None if depends_on is None else [name.strip() for name in depends_on.split(",")]
    depends_on = [] if given == ["nothing"] else given
    with make_progress(sys.stderr) as progress:
        added = add_columns(store, file, replace=options["replace"], depends_on=depends_on, progress=progress)
    for name in added.names:
        kind = f"{len(added.categories[name]):,} categories" if name in added.categories else "numbers"
        kind = "texts" if name in added.texts else kind
        missing = f", missing in {count_text(added.missing[name], 'utterance')}" if added.missing[name] else ""
        depends = f"; depends on {' and '.join(added.depends[name]) or 'nothing'}" if name in added.depends else ""
        say(f"{store}: {name}, {kind}{missing}{depends}")
    if unsaid := [name for name in added.names if name not in added.depends]:
        say(
            f"note: {', '.join(unsaid)}: --update clears a value where text, audio or speaker of its row changes; "
            "--depends-on says which of them, or nothing"
        )
    ids, n_unknown = added.unknown
    if n_unknown:
        more = ", …" if n_unknown > len(ids) else ""
        say(one_line(f"{file}: {count_text(n_unknown, 'row')} of no utterance of the store: {', '.join(ids)}{more}"))
    corrected = [name for name in ("text", "speaker") if name in added.own]
    edits = [name for name in ("keep", "regions", "merge") if name in added.names]
    if {"regions", "merge"}.intersection(edits) or (edits and corrected):
        how = f"columns now; the corpus command applies decisions: --corrections {file} --update"
        if "keep" in edits:
            how = f"columns now; the corpus command applies decisions: --corrections {file} --exclude {file} --update"
        say(one_line(f"note: {', '.join(edits)}: {how}"))
    elif added.own:
        how = f"; --corrections of the corpus command uses {' and '.join(corrected)}" if corrected else ""
        say(one_line(f"{file}: not added, every store has them: {', '.join(added.own)}{how}"))
    return [(name, file, name in added.shared) for name in added.names]


def _add_features(store: Path, source: _Source, options: Mapping[str, Any]) -> None:
    from tts_prep.additions.add_arrays import add_features
    from tts_prep.cli.preparing import parse_features
    from tts_prep.format.records.manifest import read_manifest
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.features.feature import specs_of
    from tts_prep.preprocess.run import available_jobs

    config = Configuration.from_dict(store, read_manifest(store).configuration)
    parsed = parse_features(options, config)
    _check_features(store, config, parsed, has_corpus=source.corpus is not None)
    # Each feature or model iterates over the rows once.
    rows = partial(source.rows, store, config)
    recordings = rows() if parsed.recordings else None
    jobs, aligned = options["jobs"] or available_jobs(), parsed.alignments
    if parsed.features:
        with make_progress(sys.stderr) as progress:
            manifest = add_features(
                store, parsed.features, recordings, alignments=aligned, jobs=jobs, progress=progress
            )
        for name, spec in specs_of(parsed.features).items():
            say_array(store, spec, manifest.arrays[name].get("remarks", {}))
    if parsed.models:
        doors.need("models", "add")(store, parsed.models, options, rows, aligned, jobs)
    if parsed.aligner:
        align(store, parsed.aligner, jobs)


def _check_features(store: Path, config: Configuration, parsed: ParsedFeatures, *, has_corpus: bool) -> None:
    """Check that the features can be added to a store that is made."""
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


def align(store: Path, settings: Any, jobs: int) -> None:
    """Add durations to a complete store by a model that is trained on it, and print what was done.

    Raises:
        TtsPrepError: see `tts_prep.preprocess.add_durations`.
    """
    from tts_prep.additions.add_arrays import add_durations
    from tts_prep.loader import UtteranceDataset

    with make_progress(sys.stderr) as progress:
        manifest = add_durations(store, sample=settings.sample, least=settings.least, jobs=jobs, progress=progress)
    if "alignment" in manifest.arrays:
        estimate = doors.need("estimates", "boundaries")
        say(
            f"{store}: durations, aligned by a model of phones that was trained on {store} itself; an estimated "
            f"{estimate(UtteranceDataset(store))} of the boundaries are within 20 ms of the true ones"
        )
    else:
        say(f"{store}: nothing to add, it has durations of alignments already")
    for remark in manifest.arrays["durations"].get("remarks", {}).values():
        examples = ", ".join(f"{example['symbol']}: {example['count']:,}" for example in remark["examples"])
        say(f"  {examples}")
