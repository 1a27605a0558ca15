"""Options of several commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tts_prep.cli.features import FEATURE_OPTIONS
from tts_prep.cli.verbosity import verbosity_options
from tts_prep.errors import StoreError

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class _OutputFile(click.Path):
    """A file to write, whose folder must exist and be writable: checked before any work is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from tts_prep.format.files.atomic import check_replaceable

        path: Any = super().convert(value, param, ctx)
        if not path.absolute().parent.is_dir():
            raise StoreError(
                f"{path}: cannot be written, there is no folder {path.parent}; make it, or give another path"
            )
        if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
            raise StoreError(f"{path}: cannot be written, the folder {path.parent} is not writable; give another path")
        check_replaceable(path)
        return path


OUTPUT_FILE = _OutputFile(path_type=Path, dir_okay=False)


class Integer(click.IntRange):
    """An integer within bounds, which error messages call "integer" instead of "integer range"."""

    name = "integer"


def integer_option(
    name: str, text: str, *, default: int, least: int = 0, most: int | None = None, metavar: str = "N"
) -> Callable[[F], F]:
    """Return an option whose value is an integer from ``least`` to ``most``; ``text`` is its help."""
    kind = Integer(least, most)
    return click.option(name, type=kind, default=default, show_default=True, metavar=metavar, help=text)


_TABLES = {
    "audio": "sample_rate n_fft win_length hop_length n_mels fmin fmax channel peak",
    "cleaning": "highpass trim_db trim_vad trim_margin loudness limiter",
    "text": "frontend language normalize symbols unknown punctuation ends blanks ood_texts",
    "store": "mel_dtype waveform_dtype shard_utterances",
}
_OPTIONS = {"mel_dtype": "dtype", "waveform_dtype": "waveform"}
"""Settings whose options have other names."""

SETTINGS = {table: {name: _OPTIONS.get(name, name) for name in names.split()} for table, names in _TABLES.items()}
"""The option of each setting by table, for `tts_prep.preprocess.configuration.settings.configure`."""


def _number_or_none(ctx: click.Context, param: click.Parameter, value: Any) -> float | str | None:
    """Return the number of an option, or ``none``, which unsets a setting."""
    return value if value in (None, "none") else float(click.FLOAT.convert(value, param, ctx))


def complete_preset(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the presets for shell completion."""
    from tts_prep.preprocess.audio.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_symbols(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the symbol tables for shell completion."""
    from tts_prep.preprocess.text.symbols import AUTO, TABLES

    return [name for name in (*TABLES, AUTO) if name.startswith(incomplete)]


def _with_options(function: F, options: Sequence[Callable[[F], F]]) -> F:
    """Add options to a command, in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def feature_options(function: F) -> F:
    """Add ``--feature``, ``--alignments`` and ``--array``."""
    return _with_options(function, FEATURE_OPTIONS)


def corpus_options(function: F) -> F:
    """Add the options of all commands that make a store."""
    integer, number, file = Integer(min=1), click.FLOAT, PATH
    options = (
        click.option(
            "--preset",
            metavar="NAME",
            shell_complete=complete_preset,
            help="Preset of mel settings; 'tts-prep presets' lists them.  [default: parakeet]",
        ),
        click.option(
            "--vocoder-config",
            type=file,
            metavar="FILE",
            help="Mel settings from the config.json of a HiFi-GAN or BigVGAN checkpoint.",
        ),
        click.option("--config", type=file, metavar="FILE", help="TOML file of settings, which override the preset."),
        click.option("--sample-rate", type=integer, metavar="HZ", help="Resample to this rate."),
        click.option("--n-fft", type=integer, metavar="N", help="Samples per transform."),
        click.option("--win-length", type=integer, metavar="N", help="Samples per window."),
        click.option("--hop-length", type=integer, metavar="N", help="Samples between frames."),
        click.option("--n-mels", type=integer, metavar="N", help="Mel bins."),
        click.option("--fmin", type=number, metavar="HZ", help="Lower end of the filter bank."),
        click.option("--fmax", type=number, metavar="HZ", help="Upper end of the filter bank."),
        click.option(
            "--channel",
            type=click.Choice(["first", "mean"]),
            help="Use the first channel, or the mean of all channels.  [default: that of the preset]",
        ),
        click.option(
            "--peak",
            callback=_number_or_none,
            metavar="LEVEL|none",
            help="Scale every recording to this peak (full scale: 1), or do not scale.  [default: that of the preset]",
        ),
        click.option("--highpass", type=number, metavar="HZ", help="Remove frequencies below this."),
        click.option(
            "--trim-db",
            type=number,
            metavar="DB",
            help="Trim both ends where the level is this far below the loudest frame.",
        ),
        click.option(
            "--trim-vad",
            type=number,
            metavar="PROBABILITY",
            help="Trim both ends where speech is less probable than this, such as 0.5; needs the extra 'vad'.",
        ),
        click.option(
            "--trim-margin",
            type=number,
            metavar="SECONDS",
            help="Margin that trimming keeps at both ends.  [default: 0.1]",
        ),
        click.option(
            "--loudness", type=number, metavar="LUFS", help="Normalize recordings to this integrated loudness."
        ),
        click.option("--limiter", type=number, metavar="DBFS", help="Attenuate peaks above this level, such as -1."),
        click.option(
            "--frontend",
            metavar="NAME",
            help="Text frontend; 'tts-prep frontends' lists them.  [default: that of the language, usually espeak]",
        ),
        click.option(
            "--language",
            metavar="CODE",
            help="Language of texts for which the corpus has none.  [default: that of the corpus, or en-us]",
        ),
        click.option(
            "--normalize/--no-normalize",
            default=None,
            help="Expand numbers and abbreviations in texts that the corpus does not mark as normalized.  "
            "[default: normalize]",
        ),
        click.option(
            "--symbols",
            metavar="NAME|FILE|auto",
            shell_complete=complete_symbols,
            help="Symbol table: a name in 'tts-prep symbols', a file with one symbol per line, or 'auto' for the "
            "symbols of the corpus.  [default: that of the frontend and language]",
        ),
        click.option(
            "--ends/--no-ends",
            default=None,
            help="Add the table's start and end symbols to every utterance.  [default: as the table's system does]",
        ),
        click.option(
            "--blanks",
            type=click.Choice(["none", "between", "around"]),
            help="Insert the table's blank between symbols, or also at both ends.  [default: none]",
        ),
        click.option(
            "--unknown",
            type=click.Choice(["error", "unk", "drop"]),
            help="Let the row fail if a symbol is not in the table, replace the symbol, or drop it.  [default: error]",
        ),
        click.option(
            "--punctuation",
            type=click.Choice(["attached", "separate"]),
            help="Attach punctuation to words, or separate it by spaces.  [default: that of the preset or frontend]",
        ),
        click.option("--ood-texts", type=file, metavar="FILE", help="Out-of-domain texts to phonemize, one per line."),
        click.option(
            "--split",
            "splits",
            multiple=True,
            metavar="NAME=FILE",
            help="Set the column 'split' to NAME for the ids in FILE; may be repeated.",
        ),
        click.option(
            "--dtype", type=click.Choice(["float32", "float16"]), help="Dtype of stored mels.  [default: float32]"
        ),
        click.option(
            "--waveform", type=click.Choice(["int16", "float32"]), help="Store waveforms, too, with this dtype."
        ),
        click.option(
            "--shard-utterances",
            type=integer,
            metavar="N",
            help="Maximum number of utterances in a shard.  [default: 128]",
        ),
        *FEATURE_OPTIONS,
        click.option("--limit", type=integer, metavar="N", help="Use only the first N rows."),
        click.option("--jobs", "-j", type=integer, metavar="N", help="Worker processes.  [default: one per processor]"),
        click.option(
            "--backend",
            default="local",
            show_default=True,
            metavar="NAME",
            help="Backend of the workers: local (this machine), dask, or another backend of joblib.",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler.  [default: a local cluster]"),
        click.option(
            "--part", metavar="K/N", help="Make only the shards of part K of N; 'tts-prep finish' completes the store."
        ),
        click.option(
            "--max-failures",
            default="1%",
            show_default=True,
            metavar="N|P%",
            help="Stop if more rows than this fail.",
        ),
        click.option("--overwrite", is_flag=True, help="Replace an existing store once the new one is complete."),
        click.option("--update", is_flag=True, help="Like --overwrite, but reuse unchanged shards."),
    )
    return _with_options(verbosity_options(function), options)
