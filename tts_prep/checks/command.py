"""``tts-prep check``, and its measures as columns that ``tts-prep add`` adds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tts_prep import checks, doors
from tts_prep.cli.options import Addition, store_or_url, with_options
from tts_prep.cli.output import make_progress, quiet_option, say, warn_without_compiler
from tts_prep.errors import ConfigurationError, one_line
from tts_prep.format.files.atomic import replacing
from tts_prep.preprocess.option import Option, OptionTable
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.loader import UtteranceDataset

_EXAMPLES = 3
"""The number of ids printed per reason."""


@click.command()
@store_or_url
@with_options(OptionTable(__file__), "check")
@quiet_option
def check(
    store: Path | str,
    cache: Path | None,
    cache_size: int | None,
    csv_file: Path | None,
    ids_file: Path | None,
    words_file: Path | None,
    json_output: bool,
    thresholds: tuple[str, ...],
    strict: bool,
) -> None:
    r"""Find the utterances of STORE that may spoil training.

    The command measures noise, silence, clipping, bandwidth, duplicates, speaking rate, and the match of text and
    recording, and lists the utterances beyond a threshold. Nothing is changed or deleted. Some measures need waveforms
    in the store (--waveform int16 of the command that makes it).

    \b
    Examples:
      tts-prep check store
      tts-prep check store --csv measures.csv --ids suspects.txt
      tts-prep check store --words words.txt
      tts-prep check s3://bucket/store --cache cache
      tts-prep check store --threshold clipped=100 --strict
    """
    import json

    from tts_prep.checks.detection import as_json, write_ids, write_measures
    from tts_prep.loader import UtteranceDataset

    limits = _limits(thresholds)
    named = {text.partition("=")[0] for text in thresholds}
    warn_without_compiler()
    dataset = UtteranceDataset(store, cache=cache, cache_size=cache_size)
    # Before the measures, which take longer: a frontend that is not installed is named at once.
    words = _write_words(dataset, words_file) if words_file is not None else ""
    with make_progress(sys.stderr) as progress:
        suspects = checks.suspects(checks.measure(dataset, progress=progress), limits)
    if csv_file is not None:
        write_measures(suspects, csv_file)
    if ids_file is not None:
        write_ids(suspects, ids_file)
    # ASCII, so that control characters are escaped.
    for line in [json.dumps(as_json(suspects), indent=1)] if json_output else _lines(suspects, named, ids_file):
        say(line)
    if words and not json_output:
        say(words)
    if strict and len(suspects.positions):
        click.get_current_context().exit(1)


def _write_words(dataset: UtteranceDataset, file: Path) -> str:
    """Write the words of unsure pronunciation, and return what to say of them."""
    if not (row := doors.row("words", "unsure")):
        raise ConfigurationError("words: this installation has no pronunciation dictionaries")
    said, lines = row.load()(dataset)
    with replacing(file) as partial:
        partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    if not all(line.startswith(";;;") for line in lines):
        said += (
            f"; correct those that are wrong in {file}, delete the other lines, and repeat the command that made the "
        )
        said += f"store with --update --lexicon {file}; lines of its present --lexicon belong in {file} too"
    return one_line(said, 1000)


def _limits(texts: Sequence[str]) -> tuple[checks.Threshold, ...]:
    """Return the thresholds: those of the reasons, with other limits where they are given, and those of columns."""
    from tts_prep.checks.catalogue import column_threshold

    conditions = {text: column_threshold(text) for text in texts}
    named = dict(_limit(text) for text, condition in conditions.items() if condition is None)
    return (*checks.thresholds(named), *(condition for condition in conditions.values() if condition))


def _limit(text: str) -> tuple[str, float]:
    reason, equals, value = text.partition("=")
    try:
        if equals:
            return reason, float(value)
    except ValueError:
        pass
    message = f"expected REASON=NUMBER, COLUMN<NUMBER or COLUMN>NUMBER, found '{text}'"
    raise click.BadParameter(message, param_hint="--threshold")


def _lines(suspects: checks.Suspects, named: Set[str], ids_file: Path | None) -> Iterator[str]:
    """Yield the table of reasons that occur or are named, how many others there are, and what was not measured."""
    n, n_suspects = len(suspects.measures.dataset), len(suspects.positions)
    rows, unknown, n_others = [("reason", "suspects", "threshold", "examples")], dict[str, list[str]](), 0
    for threshold in suspects.thresholds:
        found = suspects.flagged[threshold.reason].nonzero()[0]
        sign, unit = (">" if threshold.above else "<"), threshold.unit
        limit = f"{threshold.measure} {sign} {threshold.limit:g} {unit}"
        why = suspects.why_unknown(threshold.reason)
        if why:
            unknown.setdefault(why, []).append(threshold.reason)
        elif len(found) or threshold.reason in named:
            examples = _examples(suspects, threshold.reason, found.tolist())
            rows.append((threshold.reason, f"{len(found):,}", limit, examples))
        else:
            n_others += 1
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for reason, count, limit, examples in rows:
        line = f"{reason:<{widths[0]}}  {count:>{widths[1]}}  {limit:<{widths[2]}}  {examples}"
        # Ids come from the store, so control characters are escaped.
        yield one_line(line, 1000).rstrip()
    if n_others:
        yield f"{count_text(n_others, 'other reason')}: no suspects; --json has all with their thresholds"
    for why, reasons in unknown.items():
        yield f"not measured ({why}): {', '.join(reasons)}"
    yield ""
    for note in suspects.notes:
        yield one_line(f"note: {note}", 1000)
    share = n_suspects / n if n else 0
    are = "is a suspect" if 1 in (n, n_suspects) else "are suspects"
    yield f"{n_suspects:,} of {count_text(n, 'utterance')} {are} ({share:.1%})."
    if n_suspects:
        file = str(ids_file) if ids_file else "suspects.txt"
        if not ids_file:
            yield f"To exclude them, write their ids with --ids {file}, and in training:"
        else:
            yield f"{file} has their ids. To exclude them in training:"
        yield "  from pathlib import Path"
        yield f'  suspects = set(Path({file!r}).read_text("utf-8").split("\\n"))'
        yield "  dataset = dataset.filter(lambda m: ~m.id.isin(suspects))"


def _examples(suspects: checks.Suspects, reason: str, positions: Sequence[int]) -> str:
    dataset = suspects.measures.dataset
    shown = []
    for position in positions[:_EXAMPLES]:
        partner = suspects.partner(reason, position)
        shown.append(dataset[position].id + ("" if partner is None else f" (as {dataset[partner].id})"))
    return ", ".join(shown) + (", …" if len(positions) > _EXAMPLES else "")


def _add_measures(store: Path, _: Mapping[str, Any]) -> None:
    from tts_prep.additions.add_columns import add_index_array
    from tts_prep.checks.measuring import ARRAY, measures_spec, measures_table
    from tts_prep.loader import UtteranceDataset

    with make_progress(sys.stderr) as progress:

        def values() -> Any:
            return measures_table(checks.measure(UtteranceDataset(store), use_stored=False, progress=progress))

        manifest = add_index_array(store, measures_spec, values, progress)
    names = manifest.specs[ARRAY].index_columns
    say(f"{store}: {len(names)} columns of measures: {', '.join(names)}")


MEASURES: Final = Addition(
    (Option("measures", "Add the measures of 'tts-prep check' as columns of the index.", bool, default=False),),
    _add_measures,
)
