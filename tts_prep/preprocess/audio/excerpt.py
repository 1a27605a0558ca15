"""Read the recordings of utterances, which can be excerpts of longer ones, and say what is near a missing one."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np

from tts_prep.errors import AudioError
from tts_prep.format.files.regular_files import file_version
from tts_prep.preprocess.audio.config import ReadingConfig
from tts_prep.preprocess.audio.framing import Samples, Waveform
from tts_prep.preprocess.audio.reading import read_excerpt, read_samples, read_waveform
from tts_prep.preprocess.source_utterance import SourceUtterance

_MAX_ENTRIES = 200_000
"""The maximum number of files of a folder that are searched for names like that of a missing recording."""


def read_utterance(
    root: Path,
    utterance: SourceUtterance,
    sample_rate: int,
    config: ReadingConfig,
    remarks: list[str] | None = None,
    *,
    keeps_16_bits: bool = False,
) -> Samples:
    """Read the recording of an utterance, or its excerpt.

    Start and end are rounded to the nearest samples. If an excerpt cannot be read separately (see `read_excerpt`), it
    is cut from the full recording after resampling. The full recording is cached for the next row, which is usually
    another excerpt of it; a worker then holds one full recording in memory.

    Args:
        remarks: a list to which remarks on the recording are added.
        keeps_16_bits: see `read_samples`; for whole recordings only.

    Returns:
        [n_samples] float32, or int16.

    Raises:
        AudioError: the recording is unusable, ends before the utterance, or is silent there.
    """
    path = root / utterance.audio
    # Unlike Path.exists, os.path.exists does not raise for names that are too long or contain NUL.
    if not os.path.exists(path):  # noqa: PTH110
        raise AudioError(missing_recording(root, utterance.audio))
    if utterance.channel is not None:
        config = replace(config, channel=utterance.channel)
    if utterance.start == 0 and utterance.end is None:
        return read_samples(
            path, sample_rate, config, inside=utterance.inside, remarks=remarks, keeps_16_bits=keeps_16_bits
        )
    return _read_excerpt(path, utterance, sample_rate, config, remarks)


def _read_excerpt(
    path: Path, utterance: SourceUtterance, sample_rate: int, config: ReadingConfig, remarks: list[str] | None
) -> Waveform:
    start = round(utterance.start * sample_rate)
    stop = None if utterance.end is None else round(utterance.end * sample_rate)
    result = read_excerpt(path, sample_rate, start, stop, config, inside=utterance.inside, remarks=remarks)
    if result is None:
        recording, found = _full_recording(path, file_version(path), utterance.inside, sample_rate, config)
        if remarks is not None:
            remarks.extend(found)
        result = recording[start:stop], len(recording)
    excerpt, length = result
    _check_excerpt(path.name, utterance, excerpt, length, sample_rate)
    return np.array(excerpt, np.float32)


def _check_excerpt(name: str, utterance: SourceUtterance, excerpt: Waveform, length: int, sample_rate: int) -> None:
    """Check the excerpt of a recording of `length` samples, at whose end 0.1 s may lack.

    Raises:
        AudioError: the recording ends before the utterance, or is silent there.
    """
    if len(excerpt) == 0 or round((utterance.end or 0) * sample_rate) > length + sample_rate // 10:
        end = "its end" if utterance.end is None else f"{utterance.end:g}"
        raise AudioError(
            f"{name}: {length / sample_rate:.3f} s long, expected an excerpt from {utterance.start:g} to {end} s"
        )
    if not excerpt.any():
        raise AudioError(f"{name}: digital silence from {utterance.start:g} s on, every sample is 0")


@lru_cache(maxsize=1)
def _full_recording(
    path: Path, _version: tuple[int, ...], inside: str, sample_rate: int, config: ReadingConfig
) -> tuple[Waveform, list[str]]:
    """Return a whole recording and remarks on it, kept until another one, or another version of it, is read."""
    remarks: list[str] = []
    return read_waveform(path, sample_rate, config, inside=inside, remarks=remarks), remarks


def missing_recording(root: Path, audio: str) -> str:
    """Return an error message for a missing recording.

    Args:
        root: the folder of relative audio paths.
        audio: the path of the recording in the corpus.
    """
    path = root / audio
    parent = next((parent for parent in Path(audio).parents if os.path.isdir(root / parent)), None)  # noqa: PTH112
    if parent is None:
        return f"{audio}: no such file; the folder of relative audio paths does not exist"
    if parent != Path(audio).parent:
        folder = parent / Path(audio).parts[len(parent.parts)]
        return f"{audio}: no such file, and no folder {folder}; are audio paths relative to another folder?"
    stem = path.stem.lower()
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.name.lower().startswith(stem))
    except OSError:
        names = []
    if not names:
        return f"{audio}: no such file"
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{audio}: no such file; its folder contains {shown}"
