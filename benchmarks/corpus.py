"""What the scripts that tts-prep is compared with have in common: packages, the rows of a corpus, phonemes."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


def require(*packages: str) -> None:
    """End with one line if a package is not installed, which the environment of the tests may lack."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        sys.exit(f"{Path(sys.argv[0]).name}: needs {', '.join(missing)}, not installed for {sys.executable}")


class Row(NamedTuple):
    name: str
    path: Path
    text: str


def read_rows(corpus: Path) -> list[Row]:
    """Return the rows of a corpus in LJ Speech's layout, whatever the format of its recordings."""
    suffix = next((corpus / "wavs").iterdir()).suffix
    with (corpus / "metadata.csv").open(encoding="utf-8") as file:
        cells = [line.rstrip("\n").split("|") for line in file]
    return [Row(row[0], corpus / "wavs" / f"{row[0]}{suffix}", row[-1]) for row in cells]


@lru_cache(maxsize=1)
def _backend() -> Any:
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    return EspeakBackend("en-us", preserve_punctuation=True, with_stress=True)


def phonemize(text: str) -> str:
    """Return the phonemes of a text; a process makes phonemizer's backend once."""
    (phonemes,) = _backend().phonemize([text], strip=True)
    return str(phonemes)
