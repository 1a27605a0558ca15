"""Names, versions and dtypes of the store format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STORE_FORMAT: Final = "tts-prep store"
SHARD_FORMAT: Final = "tts-prep shard"
OOD_FORMAT: Final = "tts-prep out-of-domain texts"
VERSION: Final = (1, 1)

MANIFEST: Final = "manifest.json"
INDEX: Final = "index.h5"
SHARDS: Final = "shards"
FAILURES: Final = "failures.jsonl"
OOD_TEXTS: Final = "ood.h5"
PARTIAL_SUFFIX: Final = ".partial"
PARTS: Final = ".parts.json"
"""What the parts of a run agree on, while a store is made in parts."""

LOCK: Final = ".lock"

PAGE: Final = 4096
"""Every dataset starts at a multiple of this many bytes."""


@dataclass(frozen=True)
class ArrayLayout:
    """What the format fixes of one array: which dtypes it may have, and which index columns locate a row of it."""

    name: str
    dtypes: tuple[str, ...]
    start_column: str
    length_column: str


ARRAYS: Final = {
    array.name: array
    for array in (
        ArrayLayout("mel", ("float32", "float16"), "mel_start", "n_frames"),
        ArrayLayout("phonemes", ("int32",), "phonemes_start", "n_phonemes"),
        ArrayLayout("waveform", ("int16", "float32"), "waveform_start", "n_samples"),
    )
}

NUMBER: Final = "number"
TEXT: Final = "text"
CATEGORY: Final = "category"

FIXED_COLUMNS: Final = {
    "id": TEXT,
    "text": TEXT,
    "phoneme_text": TEXT,
    "shard": NUMBER,
    "mel_start": NUMBER,
    "n_frames": NUMBER,
    "phonemes_start": NUMBER,
    "n_phonemes": NUMBER,
    "waveform_start": NUMBER,
    "n_samples": NUMBER,
    "seconds": NUMBER,
    "speaker": CATEGORY,
}
"""The columns that the format names, and their kinds; a corpus may not use these names for its own columns."""

NUMBER_DTYPES: Final = {
    "shard": "<i4",
    "mel_start": "<i8",
    "n_frames": "<i4",
    "phonemes_start": "<i8",
    "n_phonemes": "<i4",
    "waveform_start": "<i8",
    "n_samples": "<i4",
    "seconds": "<f8",
}
"""Dtypes of the numeric columns that the format names; those of a corpus are float64."""


def shard_name(number: int) -> str:
    """Return the path of a shard, relative to its store.

    The first thousand lie side by side, every further thousand in a folder of its own.
    """
    folder = f"{number // 1000:03d}/" if number >= 1000 else ""
    return f"{SHARDS}/{folder}{number:05d}.h5"


def shard_number(name: str) -> int | None:
    """Return the number of the shard whose path, relative to its store, is given; None where it is not a shard's."""
    digits = name.rpartition("/")[2].removesuffix(".h5")
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else -1
    return number if number >= 0 and shard_name(number) == name else None


def version_text(version: tuple[int, int] = VERSION) -> str:
    """Return a version as it stands in files, ``"MAJOR.MINOR"``."""
    return f"{version[0]}.{version[1]}"
