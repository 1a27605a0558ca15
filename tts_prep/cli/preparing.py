"""The common code of all corpus commands: choose settings, run the pipeline, show progress, print a summary."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tts_prep import doors
from tts_prep.cli.output import make_progress, say
from tts_prep.errors import A_MODEL, ConfigurationError, CorpusError
from tts_prep.format.layout import CORRECTIONS, FAILURES, MANIFEST
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.provenance import Provenance
from tts_prep.preprocess.configuration import SETTINGS
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.configuration.settings import configure, read_config_file, text_of_corpus
from tts_prep.preprocess.corpora.corpus import get_corpus
from tts_prep.preprocess.make.asked import Asked, Part
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.run import Result, available_jobs, prepare
from tts_prep.preprocess.text.symbols import AUTO
from tts_prep.preprocess.workers.pool import Backend
from tts_prep.progress import Progress, ShowProgress
from tts_prep.quantities import bytes_text, count_text, duration_text, values_text

if TYPE_CHECKING:
    from tts_prep.preprocess.features.feature import CorpusAlignments, Feature


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
        reader: the name of the corpus reader.
        corpus, root: see `tts_prep.preprocess.read_corpus`.
        reader_options: further options of the reader; they become part of the store's configuration.
    """
    if not corpus.exists() and doors.asked("hints", "commands")(store):
        raise ConfigurationError(f"{corpus}: no such corpus, and {store} looks like one; the store comes second")
    try:
        _prepare_and_report(reader, corpus, store, options, root=root, reader_options=reader_options)
    except CorpusError as error:
        hint = doors.asked("hints", "corpus")(reader, corpus) if type(error) is CorpusError else ""
        if not hint or hint in str(error):
            raise
        join = " " if str(error).endswith("?") else "; "
        raise CorpusError(f"{error}{join}{hint}") from error


def _prepare_and_report(
    reader: str,
    corpus: Path,
    store: Path,
    options: Mapping[str, Any],
    *,
    root: Path | None,
    reader_options: Mapping[str, Any] | None,
) -> None:
    settings = chosen_settings(reader, corpus, options, root, reader_options)
    config, first = settings.config, list[str]()
    part = Part.parse(options["part"]) if options["part"] else None
    provenance = Provenance(options["licence"] or "", options["origin"] or "").checked()
    if not (store / MANIFEST).is_file():
        # Later, it says what it says.
        published = get_corpus(reader).provenance(corpus)
        if published.licence and not provenance.licence:
            first.append(f"licence: {published.licence}, as the corpus is published; --license names another")
        provenance = provenance.completed(published)
    corrections = corrections_of(store, options)
    read = partial(CorpusRows.read, config, corpus, root=root, splits=settings.splits, corrections=corrections)
    rows = read(report=first.append)
    started = time.monotonic()
    # An option of what is asked of a run has the name of its field, but for these.
    how = {one.name: options[one.name] for one in fields(Asked) if one.name in options}
    how |= {"jobs": options["jobs"] or available_jobs(), "part": part}
    how |= {"backend": Backend(options["backend"], options["scheduler"]), "rereads": options["reread"]}
    with make_progress(sys.stderr) as progress:
        of_settings = settings_text(corpus, config, preset_is_chosen=settings.preset_is_chosen)
        first[:0] = [of_settings, *(doors.asked("hints", "settings")(corpus, store, config) or ())]
        items = doors.asked("hints", "rows")(rows, settings, first.append) or iter(rows.items)
        if config.text.symbols == AUTO:
            config = doors.need("symbols", "auto")(config, read().items, jobs=how["jobs"], backend=how["backend"])
        parsed = parse_features(options, config)
        if settings.like:
            parsed = _like(parsed, settings.like, options["like"])
        how |= {"features": parsed.features, "alignments": parsed.alignments, "corrections": rows.corrected}
        how |= {"progress": with_first_lines(first, progress), "provenance": provenance, "existing": _existing(options)}
        result = prepare(items, rows.root, store, parsed.config, **how)
    elapsed = time.monotonic() - started
    # What the models of this command compute is not missing.
    called = {model.where for model in parsed.models}
    functions = [one.spec.settings.get("model") for one in result.incomplete]
    missing = [
        one
        for one, model in zip(result.incomplete, functions, strict=True)
        if not isinstance(model, dict) or model.get("function") not in called
    ]
    result = replace(result, incomplete=tuple(missing))
    for line in [part_text(result, part, elapsed)] if part else summary(result, elapsed):
        say(line)
    if rows.corrected:
        for line in doors.need("corrections", "lines")(rows.corrected, options):
            say(line)
    if parsed.models:
        rows_of = read if config.store.waveform_dtype is None else lambda: None
        doors.need("models", "add")(store, parsed.models, options, rows_of, parsed.alignments, how["jobs"])
    if parsed.aligner:
        doors.need("added", "durations")(store, parsed.aligner, how["jobs"])
    command = {"reader": reader, "corpus": corpus, "root": root, "reader_options": reader_options}
    doors.asked("sources", "command")(store, options, f"{part.number}-{part.count}" if part else "", **command)
    if not part:
        doors.asked("sources", "outdated imports")(store)


def _like(parsed: ParsedFeatures, manifest: Manifest, store: Path) -> ParsedFeatures:
    """Return features with those that a store has, which are computed from a corpus; say which are not."""
    given = {spec.name for feature in parsed.features for spec in feature.specs}
    more = doors.need("update", "features")(manifest, parsed.config, given)
    made = given | {spec.name for feature in more for spec in feature.specs}
    if missing := [name for name in manifest.array_files if name not in made]:
        say(f"not as in {store}: {', '.join(missing)}, of other sources than the corpus; add them again")
    return replace(parsed, features=(*parsed.features, *more))


def _existing(options: Mapping[str, Any]) -> Literal["resume", "update", "overwrite"]:
    if options["overwrite"] and options["update"]:
        raise ConfigurationError("overwrite, update, part: expected at most one of them")
    return "overwrite" if options["overwrite"] else "update" if options["update"] else "resume"


def summary(result: Result, elapsed: float) -> list[str]:
    """Return the closing lines of a run."""
    manifest = result.manifest
    assert manifest is not None
    totals, made = manifest.totals, made_text(result.store, manifest)
    if not result.shards_made:
        lines = [made, "the store was already complete; nothing was made"]
    else:
        kept = totals["shards"] - result.shards_made
        elapsed -= result.compiling
        speed = f"made in {duration_text(elapsed)}"
        # The speed is meaningless if an earlier run made some of the shards.
        speed += (
            f"; {count_text(kept, 'shard')} already existed"
            if kept
            else f", {totals['seconds'] / elapsed:,.0f} × real time"
        )
        if result.compiling:
            speed += (
                f"; before that, the mel kernel was compiled (once per installation), in "
                f"{duration_text(result.compiling)}"
            )
        lines = [made, speed]
    lines += [remark_line(kind, remark) for kind, remark in manifest.remarks.items()]
    if manifest.ood_texts:
        lines.append(doors.need("ood", "line")(result.store))
    lines += [doors.need("update", "line")(result.store, array) for array in result.incomplete]
    if totals["failures"]:
        lines.append(failures_text(result.store, totals["failures"]))
    return lines


def remark_line(kind: str, remark: Mapping[str, Any]) -> str:
    """Return one line about a kind of remark: its count and the most frequent examples."""
    examples = [f"'{item['symbol']}' × {item['count']:,} (first in {item['id']})" for item in remark["examples"]]
    shown = ", ".join(examples[:4]) + (", …" if remark["different"] > 4 else "")
    return f"{kind.replace('_', ' ')}: {remark['count']:,}, {remark['different']:,} different: {shown}"


def made_text(store: Path, manifest: Manifest) -> str:
    """Return one line about the contents of a store."""
    totals = manifest.totals
    return (
        f"{store}: {count_text(totals['utterances'], 'utterance')}, {duration_text(totals['seconds'])} of audio, "
        f"{totals['frames']:,} frames, {totals['phonemes']:,} phonemes, {count_text(totals['shards'], 'shard')}, "
        f"{bytes_text(sum(entry.size for entry in manifest.files))}"
    )


def part_text(result: Result, part: Part, elapsed: float) -> str:
    """Return the closing line of a part."""
    existing = result.shards - result.shards_made
    return (
        f"{result.store}: part {part.number}/{part.count}, {count_text(result.shards, 'shard')}"
        f"{f' ({existing:,} already existed)' if existing else ''}, {duration_text(result.seconds)} of audio, "
        f"{count_text(result.failures, 'row')} failed, in {duration_text(elapsed)}; when all parts are made: "
        f"tts-prep finish {result.store}"
    )


def failures_text(store: Path, count: int) -> str:
    """Return one line about failed rows: their counts by stage, and the first failure."""
    with (store / FAILURES).open(encoding="utf-8") as file:
        failures = [json.loads(line) for line in file]
    stages = ", ".join(f"{stage} {number}" for stage, number in Counter(row["stage"] for row in failures).items())
    first = failures[0]
    return (
        f"failed: {count_text(count, 'row')} of the corpus ({stages}), listed in {store / FAILURES}; the first: "
        f"{first['id'] or first['where']}: {first['reason']}"
    )


def settings_text(corpus: Path, config: Configuration, *, preset_is_chosen: bool) -> str:
    """Return one line about the corpus and the main settings of a run."""
    text, lacks = config.text, doors.lacks("words", "marks")
    preset = config.preset or "none"
    if not preset_is_chosen:
        preset += " (the default; a vocoder needs its own, see 'tts-prep presets')"
    return (
        f"corpus: {config.corpus} {corpus}; preset: {preset}; frontend: {text.frontend_name}, "
        f"language {text.language}{'' if text.normalize else ', texts unchanged'}"
        + (f"; cleaning: {values_text(cleaning)}" if (cleaning := config.cleaning.as_dict()) else "")
        + (f"; marks such as <b> stay ({lacks})" if text.marks == "text" and lacks else "")
    )


def with_first_lines(lines: list[str], progress: ShowProgress) -> ShowProgress:
    """Return a callback that prints lines and the number of rows before it first shows progress.

    Args:
        lines: the lines, which may grow until then; cleared after printing.
        progress: the callback that shows progress.
    """

    def show(now: Progress) -> None:
        if lines:
            say("\n".join([*lines, f"rows: {now.total:,}"]))
            lines.clear()
        progress(now)

    return show


@dataclass(frozen=True)
class ChosenSettings:
    """The settings of a run, and which of them are not the default's.

    Attributes:
        splits: the files of ids by split.
        preset_is_chosen: the mels are those of an option or a file of settings.
        language_is_given: the language of texts is that of an option, a file of settings or the corpus.
        like: the manifest of the store whose settings and features are taken over.
    """

    config: Configuration
    splits: Mapping[str, Path]
    preset_is_chosen: bool
    language_is_given: bool
    like: Manifest | None = None


def chosen_settings(
    reader: str,
    corpus: Path,
    options: Mapping[str, Any],
    root: Path | None = None,
    reader_options: Mapping[str, Any] | None = None,
) -> ChosenSettings:
    """Return the settings of the options of a command, which override those of the file and of the corpus."""
    splits = split_lists(options["splits"])
    file = read_config_file(options["config"]) if options["config"] else None
    in_file: Mapping[str, Any] = file.tables if file else {}
    manifest = read_manifest(options["like"]) if options["like"] else None
    like = Configuration.from_dict(options["like"], manifest.configuration) if manifest else None
    of_corpus = text_of_corpus(reader, corpus, reader_options, root=root, limit=options["limit"])
    config = configure(
        reader,
        limit=options["limit"],
        preset=options["preset"],
        vocoder=options["vocoder_config"],
        file=file,
        settings={
            table: {option.name: options[option.name] for option in known if options[option.name] is not None}
            for table, known in SETTINGS.items()
        },
        options=reader_options,
        splits=splits,
        text=of_corpus,
        like=like,
    )
    return ChosenSettings(
        config,
        splits,
        preset_is_chosen=bool(
            options["preset"] or options["vocoder_config"] or like or in_file.keys() & {"preset", "audio"}
        ),
        language_is_given=bool(options["language"] or like or "language" in {**in_file.get("text", {}), **of_corpus}),
        like=manifest,
    )


def corrections_of(store: Path, options: Mapping[str, Any]) -> Any:
    """Return what the store shall have otherwise than its corpus, which an update keeps; None if that is nothing."""
    is_kept = options["update"] and os.path.lexists(store / CORRECTIONS)
    if options["corrections"] is None and options["exclude"] is None and not is_kept:
        return None
    return doors.need("corrections", "chosen")(store, options)


def split_lists(values: Iterable[str]) -> dict[str, Path]:
    """Parse values of ``--split NAME=FILE``.

    Raises:
        ConfigurationError: a value is malformed, or a name is repeated.
    """
    lists: dict[str, Path] = {}
    for value in values:
        name, equals, file = value.partition("=")
        if not (name and equals and file) or name in lists:
            raise ConfigurationError(f"split: expected NAME=FILE, each name once, found {value!r}")
        lists[name] = Path(file)
    return lists


@dataclass(frozen=True)
class ParsedFeatures:
    """The features requested by options.

    Attributes:
        config: the configuration, with the settings of alignments that change shards.
        alignments: the alignments that change shards, or None.
        recordings: the names of the features that are computed from recordings.
        aligner: the settings of durations that the complete store gives itself; None if they are not requested.
        models: the models that are called with batches of the complete store.
    """

    features: tuple[Feature, ...]
    config: Configuration
    alignments: CorpusAlignments | None = None
    recordings: tuple[str, ...] = ()
    aligner: Any = None
    models: tuple[Any, ...] = ()


def parse_features(options: Mapping[str, Any], config: Configuration) -> ParsedFeatures:
    """Parse the options of a command for features.

    Raises:
        ConfigurationError: an option is invalid.
    """
    if not (options["features"] or options["alignments"] or options["arrays"]):
        return ParsedFeatures((), config)
    from tts_prep.preprocess.features.kinds import get_feature, make_feature, parse_feature

    requested = [*map(parse_feature, options["features"])]
    # One whose row has keys makes an array of each setting, such as mels of several presets.
    rows = doors.rows("features")
    names = [name for name, _ in requested if name not in rows or not rows[name].keys]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"feature: '{repeated}' is repeated; give all of its settings in one option")
    folder, aligner, durations = options["alignments"], None, dict(requested).get("durations")
    if folder is not None and durations is None:
        requested.append(("durations", durations := {}))
    elif folder is None and durations is not None:
        aligner = _aligner(durations, makes_part=bool(options.get("part")))
        requested = [(name, settings) for name, settings in requested if name != "durations"]
    kinds = [(get_feature(name), settings) for name, settings in requested]
    models = tuple(
        doors.need("models", "function")(kind.name, kind.model, texts) for kind, texts in kinds if kind.model
    )
    if models and options.get("part"):
        # They are called when the store is complete, which no part is.
        raise ConfigurationError(A_MODEL)
    made = [make_feature(kind.name, texts, config.mel, folder) for kind, texts in kinds if not kind.model]
    made += [doors.need("imports", "array")(text) for text in options["arrays"]]
    alignments = None
    if folder is not None and (aligning := get_feature("durations").configured(durations or {})).changes_mels:
        alignments = doors.need("imports", "alignments")(folder, aligning.as_dict())
        config = replace(config, alignments=aligning.as_dict())
    recordings = tuple(dict.fromkeys(kind.name for kind, _ in kinds if not kind.model and kind.reads == "recording"))
    return ParsedFeatures(tuple(made), config, alignments, recordings, aligner, models)


def _aligner(texts: Mapping[str, str], *, makes_part: bool) -> Any:
    """Return the settings of durations without alignments."""
    from tts_prep.preprocess.features.kinds import configured, get_feature

    kind = get_feature("durations")
    trained = kind.trained or doors.need("trained", kind.name, is_record=True)
    settings = configured(kind.name, trained.settings, texts)
    if makes_part:
        raise ConfigurationError(
            "durations: without --alignments, they need the complete store; make the parts without durations, and "
            "add them by 'tts-prep add STORE --feature durations'"
        )
    return settings
