"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tts_prep.cli.features import FEATURE_OPTIONS

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path)


SETTINGS = {
    "audio": {
        **{name: name for name in ("sample_rate", "n_fft", "win_length", "hop_length", "n_mels", "fmin", "fmax")},
        **{name: name for name in ("channel", "trim_db")},
    },
    "text": {
        **{name: name for name in ("frontend", "language", "normalize", "symbols", "unknown", "punctuation")},
        **{name: name for name in ("ends", "blanks")},
        "ood_texts": "ood_texts",
    },
    "store": {"mel_dtype": "dtype", "waveform_dtype": "waveform", "shard_utterances": "shard_utterances"},
}
"""Table → setting → the option that sets it, for `tts_prep.preprocess.configuration.settings.configure`."""


def complete_preset(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the presets that a shell may complete a name to."""
    from tts_prep.preprocess.audio.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_symbols(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the symbol tables that a shell may complete a name to."""
    from tts_prep.preprocess.text.symbols import AUTO, TABLES

    return [name for name in (*TABLES, AUTO) if name.startswith(incomplete)]


def corpus_options(function: F) -> F:
    """Add what every command that makes a store takes."""
    integer, number, file = click.IntRange(min=1), click.FLOAT, click.Path(path_type=Path)
    options = (
        click.option(
            "--preset",
            metavar="NAME",
            shell_complete=complete_preset,
            help="Mel recipe; 'tts-prep presets' lists them.  [default: parakeet]",
        ),
        click.option(
            "--vocoder-config", type=file, metavar="FILE", help="Mel recipe of a HiFi-GAN or BigVGAN config.json."
        ),
        click.option("--config", type=file, metavar="FILE", help="Settings in TOML, over the recipe."),
        click.option("--sample-rate", type=integer, metavar="HZ", help="Resample to this rate."),
        click.option("--n-fft", type=integer, metavar="N", help="Samples in a transform."),
        click.option("--win-length", type=integer, metavar="N", help="Samples in a window."),
        click.option("--hop-length", type=integer, metavar="N", help="Samples from frame to frame."),
        click.option("--n-mels", type=integer, metavar="N", help="Mel bins."),
        click.option("--fmin", type=number, metavar="HZ", help="Lower end of the filter bank."),
        click.option("--fmax", type=number, metavar="HZ", help="Upper end of the filter bank."),
        click.option(
            "--channel", type=click.Choice(["first", "mean"]), help="Of several channels.  [default: the preset's]"
        ),
        click.option(
            "--trim-db", type=number, metavar="DB", help="Cut ends that are so many dB below the loudest part."
        ),
        click.option(
            "--frontend",
            metavar="NAME",
            help="Frontend; 'tts-prep frontends' lists them.  [default: espeak; mandarin for zh, japanese for ja]",
        ),
        click.option(
            "--language",
            metavar="CODE",
            help="Of texts whose language the corpus does not say.  [default: that of the corpus, or en-us]",
        ),
        click.option(
            "--normalize/--no-normalize",
            default=None,
            help="Put numbers and abbreviations of English texts into words, where the corpus has not.  [default: do]",
        ),
        click.option(
            "--symbols",
            metavar="NAME|FILE|auto",
            shell_complete=complete_symbols,
            help="Symbol table: a name out of 'tts-prep symbols', a file with one symbol a line, or 'auto' for the "
            "corpus's own symbols.  [default: styletts2 for English, espeak for other languages]",
        ),
        click.option(
            "--ends/--no-ends",
            default=None,
            help="Put the table's start and end symbols around every utterance.  [default: as the table's system does]",
        ),
        click.option(
            "--blanks",
            type=click.Choice(["none", "between", "around"]),
            help="Put the table's blank between symbols, or also at both ends.  [default: none]",
        ),
        click.option(
            "--unknown",
            type=click.Choice(["error", "unk", "drop"]),
            help="What a symbol outside of the vocabulary becomes; an error leaves the row out.  [default: error]",
        ),
        click.option(
            "--punctuation",
            type=click.Choice(["attached", "separate"]),
            help="Marks behind the word, or tokens of their own.  [default: as the frontend has it]",
        ),
        click.option(
            "--ood-texts", type=file, metavar="FILE", help="Texts without recordings to phonemize too, one a line."
        ),
        click.option(
            "--split",
            "splits",
            multiple=True,
            metavar="NAME=FILE",
            help="Mark the ids in FILE in the column 'split'; may be given several times.",
        ),
        click.option("--dtype", type=click.Choice(["float32", "float16"]), help="Of stored mels.  [default: float32]"),
        click.option("--waveform", type=click.Choice(["int16", "float32"]), help="Keep the waveform too, as this."),
        click.option(
            "--shard-utterances", type=integer, metavar="N", help="Most utterances in a shard.  [default: 128]"
        ),
        *FEATURE_OPTIONS,
        click.option("--limit", type=integer, metavar="N", help="Take the first N rows only."),
        click.option("--jobs", "-j", type=integer, metavar="N", help="Worker processes.  [default: one a processor]"),
        click.option(
            "--backend",
            default="local",
            show_default=True,
            metavar="NAME",
            help="Where the workers run: local (this machine), dask, or another backend of joblib.",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster.  [default: one on this machine]"),
        click.option("--part", metavar="K/N", help="Make every N-th shard only; 'tts-prep finish' does the rest."),
        click.option(
            "--max-failures",
            default="1%",
            show_default=True,
            metavar="N|P%",
            help="Give up when more rows than this fail.",
        ),
        click.option("--overwrite", is_flag=True, help="Replace a store that is there, once the new one is whole."),
        click.option(
            "--update", is_flag=True, help="The same, but take over the shards whose rows and settings are the same."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function
