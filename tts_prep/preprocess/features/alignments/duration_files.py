"""Durations without labels, one number per phoneme: ``.npy`` files, or text separated by white space or commas."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AlignmentError, one_line
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.features.array_sources import read_npy

_MAX_REASON: Final = 200
"""The maximum length of a reason: numpy and Python quote what they could not read, which may be the whole file."""


def read_durations(path: Path) -> npt.NDArray[Any]:
    """Read the durations in a file, [n_phonemes]: int64 frames, or float64 seconds.

    Raises:
        AlignmentError: the file is missing or not a list of numbers, or a number is negative or not finite.
    """
    try:
        values = read_npy(path) if path.suffix == ".npy" else _numbers(path)
    except FileNotFoundError:
        raise AlignmentError(f"{path}: no such file, expected the durations of the utterance") from None
    except (OSError, ValueError, OverflowError) as error:
        raise AlignmentError(f"{path}: cannot be read as durations ({one_line(str(error), _MAX_REASON)})") from error
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not len(values):
        raise AlignmentError(
            f"{path}: {values.dtype} of shape {list(values.shape)}, expected one number per phoneme: integers are "
            "frames, others seconds"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise AlignmentError(f"{path}: contains a number that is not finite, expected durations in seconds")
    if values.min() < 0:
        raise AlignmentError(f"{path}: the duration {values.min():g} is negative")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _numbers(path: Path) -> npt.NDArray[Any]:
    words = read_regular(path).decode("utf-8").strip("[] \r\n\t").replace(",", " ").split()
    try:
        return np.array([int(word) for word in words], np.int64)
    except ValueError:
        return np.array([float(word) for word in words], np.float64)
