"""``tts-prep info``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import store_or_url
from tts_prep.cli.output import quiet_option, say
from tts_prep.errors import StoreError, one_line
from tts_prep.format.decoding import Record
from tts_prep.format.files.paths import without_secret
from tts_prep.format.layout import INDEX, MANIFEST
from tts_prep.quantities import bytes_text, count_text, duration_text, values_text

if TYPE_CHECKING:
    from tts_prep.format.records.arrays import ArraySpec
    from tts_prep.format.records.manifest import Manifest

_MEDIANS = {"phones_per_second": "phones/s", "loudness_lufs": "LUFS", "snr_db": "dB of SNR", "pitch_hz": "Hz of pitch"}
"""Columns whose medians are shown, and their units."""


@click.command()
@store_or_url
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON, without its lists of files.")
@click.option("--history", is_flag=True, help="Print what commands did to this copy of the store, a line for each.")
@click.option("--command", is_flag=True, help="Print the commands that make such a store.")
@quiet_option
def info(
    store: Path | str, cache: Path | None, cache_size: int | None, as_json: bool, history: bool, command: bool
) -> None:
    r"""Show the contents and settings of STORE.

    \b
    Examples:
      tts-prep info store
      tts-prep info store --json
      tts-prep info store --history
      tts-prep info s3://bucket/store --cache cache
    """
    import json

    from tts_prep.format.records.manifest import manifest_json, read_manifest

    folder = _folder(store, cache, cache_size)
    manifest = read_manifest(folder)
    if history or command:
        for line in _commands(folder, with_times=history):
            say(one_line(line, 10_000))
        return
    size = sum(entry.size for entry in manifest.files)
    if as_json:
        files = ("index", "failures", "plan_file", "ood_texts", "corrections", "provenance_file", "shards")
        omitted = (*files, "array_files", "datasets")
        value = {key: item for key, item in manifest_json(manifest).items() if key not in omitted}
        text = json.dumps({"store": without_secret(store), "bytes": size, **value}, indent=1, ensure_ascii=False)
        # Escape control characters, which can only be in strings.
        say("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))
        return
    rows = _rows(folder, manifest, size)
    rows["store"] = f"{without_secret(store)}{rows['store'].removeprefix(str(folder))}"
    for name, line in rows.items():
        # Texts come from the store, so control characters are escaped.
        say("\n".join(_folded(name, one_line(line, 10_000))))


def _folder(store: Path | str, cache: Path | None, cache_size: int | None) -> Path:
    """Return the folder of a store: of a URL, the one in the cache that has its manifest and index."""
    if cache is None:
        return Path(store)
    from tts_prep.loader import UtteranceDataset

    return UtteranceDataset(store, cache=cache, cache_size=cache_size).path


def _commands(store: Path, *, with_times: bool) -> Iterator[str]:
    """Yield the commands that a store was made with, as a shell reads them.

    Raises:
        StoreError: they are not known, or rows were removed, which no command says again.
    """
    import shlex

    from tts_prep.format.records.sources import read_sources

    lines = read_sources(store).history
    if with_times:
        for line in lines:
            yield f"{line['time']}  {line['rows']:,} rows  tts-prep {shlex.join(line['arguments'])}"
        return
    if not lines or any(len(line["arguments"]) < 2 for line in lines):
        raise StoreError(
            f"{store}: what made it is not known here; 'tts-prep CORPUS … --like {store}' takes its settings"
        )
    for line in lines:
        arguments = [one for one in line["arguments"] if one not in ("--overwrite", "--quiet", "-q")]
        yield f"cd {shlex.quote(line['folder'])} && tts-prep {shlex.join(arguments)}"


def _rows(store: Path, manifest: Manifest, size: int) -> dict[str, str]:
    where = store / MANIFEST
    totals = Record(f"{where}: totals", manifest.totals)
    configuration = Record(f"{where}: configuration", manifest.configuration)
    vocabulary = Record(f"{where}: vocabulary", manifest.vocabulary)
    audio, text = configuration.record("audio"), configuration.record("text")
    preset = configuration.values.get("preset") and configuration.text("preset")
    n_utterances, n_failures = totals.integer("utterances"), totals.integer("failures")
    corrections = manifest.corrections
    seconds, specs = totals.number("seconds", 0), manifest.specs
    cleaning = configuration.values.get("cleaning") and configuration.mapping("cleaning")
    return {
        "store": f"{store}, format {manifest.version}, {bytes_text(size)} in "
        + count_text(totals.integer("shards"), "shard"),
        "utterances": f"{n_utterances:,}, {duration_text(seconds)}, {seconds / max(1, n_utterances):.2f} s on average",
        "failed": f"{count_text(n_failures, 'row')}, see failures.jsonl" if n_failures else "nothing",
        "speakers": _speakers_text(manifest.speakers),
        **({"cleaning": values_text(cleaning)} if cleaning else {}),
        **({"preset": f"{preset}; 'tts-prep presets {preset}' prints its settings"} if preset else {}),
        "mel": f"{totals.integer('frames'):,} frames of {audio.integer('n_mels')} bins, {specs['mel'].dtype}; "
        + _mel_text(audio)
        if audio.integer("n_mels")
        else f"none; {totals.integer('frames'):,} frames of {audio.integer('hop_length')} samples",
        "phonemes": f"{totals.integer('phonemes'):,}; frontend {text.text('frontend')}, "
        f"language {text.text('language')}, {len(vocabulary.texts('symbols'))} symbols",
        **_languages(store, manifest),
        "waveform": f"stored, {specs['waveform'].dtype}" if "waveform" in specs else "not stored",
        **_arrays(where, manifest),
        **_columns(store, manifest),
        **({"other texts": f"{manifest.ood_texts.rows:,}, out of domain"} if manifest.ood_texts else {}),
        **({"corrections": f"{count_text(corrections.rows, 'row')}, see corrections.jsonl"} if corrections else {}),
        **({"remarks": _remarks_text(store, manifest)} if manifest.remarks else {}),
        **manifest.provenance,
        "made by": ", ".join(f"{name} {version}" for name, version in manifest.software.items()),
        "fingerprint": manifest.fingerprint,
    }


def _speakers_text(speakers: Sequence[str]) -> str:
    return f"{len(speakers):,}: {', '.join(speakers[:6])}{', …' if len(speakers) > 6 else ''}"


def _arrays(where: Path, manifest: Manifest) -> dict[str, str]:
    """Return the added arrays that are no columns."""
    return {
        name: _array_text(spec, Record(f"{where}: array '{name}'", manifest.arrays[name]).record("statistics"))
        for name, spec in manifest.array_specs.items()
        if spec.added
    }


def _languages(store: Path, manifest: Manifest) -> dict[str, str]:
    """Return the languages of the rows, if the corpus has any."""
    if not any(name.startswith("columns/language") for name in manifest.datasets.get(INDEX, {})):
        return {}
    # Imported late, as in `_medians`.
    from tts_prep.inspection.settings import languages_text
    from tts_prep.loader import UtteranceDataset

    return {"languages": languages_text(manifest, UtteranceDataset(store))}


def _remarks_text(store: Path, manifest: Manifest) -> str:
    """Return the number of remarks of each kind as text."""
    where = f"{store / MANIFEST}: remarks"
    counts = {kind: Record(where, remark).integer("count") for kind, remark in manifest.remarks.items()}
    return ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in counts.items())


def _mel_text(audio: Record) -> str:
    """Return the settings of mels as text."""
    return (
        f"{audio.integer('sample_rate'):,} Hz, n_fft {audio.integer('n_fft')}, window {audio.integer('win_length')}, "
        f"hop {audio.integer('hop_length')}, {audio.number('fmin'):g}–{audio.number('fmax'):g} Hz, "
        f"framing {audio.text('framing')}"
    )


def _columns(store: Path, manifest: Manifest) -> dict[str, str]:
    """Return the columns that were added: how many are measures, with the medians of some, and the names of others."""
    found = {
        name: (*spec.index_columns, *spec.text_columns) for name, spec in manifest.specs.items() if spec.holds_columns
    }
    measures = {name: columns for name, columns in found.items() if not _MEDIANS.keys().isdisjoint(columns)}
    named = [column for name, columns in found.items() if name not in measures for column in columns]
    rows = {"columns": f"{count_text(len(named), 'column')} of the index: {', '.join(named)}"} if named else {}
    for name, columns in measures.items():
        medians = _medians(store, columns)
        rows[name] = f"{count_text(len(columns), 'column')} of the index" + (f"; medians: {medians}" if medians else "")
    return rows


def _medians(store: Path, columns: Sequence[str]) -> str:
    """Return the medians of some columns as text."""
    # Most stores have no such columns, and are shown without the time to import the loader.
    import numpy as np

    from tts_prep.loader import UtteranceDataset

    dataset = UtteranceDataset(store)
    medians = []
    for column, unit in _MEDIANS.items():
        values = np.asarray(dataset.columns[column] if column in columns else [], np.float64)
        values = values[np.isfinite(values)]
        if len(values):
            medians.append(f"{np.median(values):.1f} {unit}")
    return ", ".join(medians)


def _array_text(spec: ArraySpec, statistics: Record) -> str:
    """Return one line about an added array."""
    shape = "".join(f" × {n}" for n in spec.row_shape)
    rate = f" at {spec.rate:g} Hz" if spec.rate else ""
    n_rows = statistics.integer("count")
    text = f"{spec.dtype}{shape} by {spec.axis}{rate}, {n_rows:,} rows counted"
    if spec.row_shape or not n_rows:
        return text
    mean, std, low, high = (statistics.numbers(key, 1)[0] for key in ("mean", "std", "min", "max"))
    return f"{text}, mean {mean:.4g}, deviation {std:.4g}, from {low:.4g} to {high:.4g}"


def _folded(name: str, line: str) -> list[str]:
    """Return a title and its line, wrapped to the width of a terminal; one line if the output is not a terminal."""
    import shutil
    import textwrap

    # The name of an array can be longer than the column.
    title = click.style(f"{name:<11} ", bold=True)
    if not sys.stdout.isatty():
        return [title + line]
    width = max(30, min(100, shutil.get_terminal_size().columns) - 12)
    first, *rest = textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    return [title + first, *(" " * 12 + continuation for continuation in rest)]
