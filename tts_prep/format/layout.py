"""Names, versions and dtypes of the store format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STORE_FORMAT: Final = "tts-prep store"
SHARD_FORMAT: Final = "tts-prep shard"
OOD_FORMAT: Final = "tts-prep out-of-domain texts"
ARRAY_FORMAT: Final = "tts-prep array"
PLAN_FORMAT: Final = "tts-prep plan"
VERSION: Final = (1, 2)

MANIFEST: Final = "manifest.json"
INDEX: Final = "index.h5"
SHARDS: Final = "shards"
FAILURES: Final = "failures.jsonl"
PLAN: Final = "plan.json"
ADDED_ARRAYS: Final = "arrays"
"""The folder of the arrays that lie in files of their own."""

OOD_TEXTS: Final = "ood.h5"
PARTIAL_SUFFIX: Final = ".partial"
LOCK: Final = ".lock"

PAGE: Final = 4096
"""Every dataset starts at a multiple of this many bytes."""


FRAME: Final = "frame"
PHONEME: Final = "phoneme"
SAMPLE: Final = "sample"
UTTERANCE: Final = "utterance"
OWN: Final = "own"

AXES: Final = {
    FRAME: ("mel_start", "n_frames"),
    PHONEME: ("phonemes_start", "n_phonemes"),
    SAMPLE: ("waveform_start", "n_samples"),
    UTTERANCE: None,
    OWN: None,
}
"""Axis → the index columns of start and length, where all arrays of the axis share them."""


@dataclass(frozen=True)
class ArrayLayout:
    """What the format fixes of an array that lies in the shards.

    Attributes:
        dtypes: those it may have.
        start_column, length_column: the index columns that say where an utterance's rows lie.
    """

    name: str
    dtypes: tuple[str, ...]
    axis: str
    start_column: str
    length_column: str


ARRAYS: Final = {
    array.name: array
    for array in (
        ArrayLayout("mel", ("float32", "float16"), FRAME, "mel_start", "n_frames"),
        ArrayLayout("phonemes", ("int32",), PHONEME, "phonemes_start", "n_phonemes"),
        ArrayLayout("waveform", ("int16", "float32"), SAMPLE, "waveform_start", "n_samples"),
    )
}
"""The arrays that lie in the shards; every other one lies in files of its own."""

ARRAY_DTYPES: Final = (
    *("float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
)
"""The dtypes of added arrays."""

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


def array_file_name(name: str, number: int) -> str:
    """Return the path of the file that holds an added array's rows of a shard, relative to its store."""
    return f"{ADDED_ARRAYS}/{name}/{shard_name(number).removeprefix(f'{SHARDS}/')}"


def array_file_number(path: str) -> tuple[str, int] | None:
    """Return array name and shard number of an array file's path, relative to its store; None where it is another."""
    folder, _, rest = path.partition("/")
    name, _, rest = rest.partition("/")
    number = shard_number(f"{SHARDS}/{rest}")
    return (name, number) if folder == ADDED_ARRAYS and name and number is not None else None


def version_text(version: tuple[int, int] = VERSION) -> str:
    """Return a version as it stands in files, ``"MAJOR.MINOR"``."""
    return f"{version[0]}.{version[1]}"
