"""Names, versions and dtypes of the store format."""

from dataclasses import dataclass
from typing import Final

STORE_FORMAT: Final = "tts-prep store"
SHARD_FORMAT: Final = "tts-prep shard"
OOD_FORMAT: Final = "tts-prep out-of-domain texts"
ARRAY_FORMAT: Final = "tts-prep array"
PLAN_FORMAT: Final = "tts-prep plan"
SOURCES_FORMAT: Final = "tts-prep sources"
VERSION: Final = (1, 4)
OLDEST: Final = (1, 3)
"""The oldest version that is read."""

MANIFEST: Final = "manifest.json"
INDEX: Final = "index.h5"
SHARDS: Final = "shards"
FAILURES: Final = "failures.jsonl"
PLAN: Final = "plan.json"
CORRECTIONS: Final = "corrections.jsonl"
PROVENANCE: Final = "provenance.json"
SOURCES: Final = "sources.json"
ADDED_ARRAYS: Final = "arrays"
"""The folder of added arrays."""

OOD_TEXTS: Final = "ood.h5"
PARTIAL_SUFFIX: Final = ".partial"
LOCK: Final = ".lock"

PAGE: Final = 4096
"""Every dataset starts at a multiple of this many bytes."""


ALIGNMENT_SCORE: Final = "alignment_score"
"""The column of the scores of alignments, if a store has aligned itself."""

ALIGNMENT_WITHIN: Final = "alignment_within_20_ms"
"""The column of the estimated shares of boundaries within 20 ms of the true ones, if a store has aligned itself."""

ALIGNMENT_SILENCES: Final = ("alignment_silence_start", "alignment_silence_end")
"""The columns of the frames of the first and the last phoneme that are silence, if a store has aligned itself."""

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
"""The index columns of start and length of each axis; None if arrays of the axis do not share them."""


@dataclass(frozen=True)
class ArrayLayout:
    """The properties of an array stored in the shards that the format defines.

    Attributes:
        dtypes: the allowed dtypes.
        start_column, length_column: the index columns with start and length of an utterance's rows.
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
"""The arrays stored in the shards; every other array is stored in separate files."""

COUNTED: Final = {"pitch": "voiced"}
"""Array → the mask of its counted rows, as in the statistics of a store."""

ARRAY_DTYPES: Final = (
    *("float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
)
"""The dtypes of added arrays."""

ROW_KEYS: Final = "row_keys"
KEY_BYTES: Final = 32
"""The bytes of the key of a row, a SHA-256."""

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
"""The columns defined by the format, and their kinds. A corpus cannot use these names for its own columns."""

NUMBER_DTYPES: Final = {
    **dict.fromkeys(("shard", "n_frames", "n_phonemes", "n_samples"), "<i4"),
    **dict.fromkeys(("mel_start", "phonemes_start", "waveform_start"), "<i8"),
    "seconds": "<f8",
}
"""The dtypes of the numeric columns defined by the format; numeric columns of a corpus are float64."""


def shard_name(number: int) -> str:
    """Return the path of a shard, relative to its store.

    The first thousand are in ``shards``, every further thousand in a subfolder.
    """
    folder = f"{number // 1000:03d}/" if number >= 1000 else ""
    return f"{SHARDS}/{folder}{number:05d}.h5"


def shard_number(name: str) -> int | None:
    """Return the number of a shard from its path relative to the store; None if the path is not that of a shard."""
    digits = name.rpartition("/")[2].removesuffix(".h5")
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else -1
    return number if number >= 0 and shard_name(number) == name else None


def array_file_name(name: str, number: int) -> str:
    """Return the path of an added array's file of a shard, relative to the store."""
    return f"{ADDED_ARRAYS}/{name}/{shard_name(number).removeprefix(f'{SHARDS}/')}"


def array_file_number(path: str) -> tuple[str, int] | None:
    """Return array name and shard number from a path relative to the store; None if it is not that of an array file."""
    folder, _, rest = path.partition("/")
    name, _, rest = rest.partition("/")
    number = shard_number(f"{SHARDS}/{rest}")
    return (name, number) if folder == ADDED_ARRAYS and name and number is not None else None


def version_text(version: tuple[int, int] = VERSION) -> str:
    """Return a version as in files, ``"MAJOR.MINOR"``."""
    return f"{version[0]}.{version[1]}"
