"""Read utterances that are excerpts of longer recordings."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.missing import missing_recording
from tts_prep.preprocess.audio.reading import ReadingConfig, read_excerpt, read_waveform
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance


def read_utterance(
    root: Path, utterance: SourceUtterance, sample_rate: int, config: ReadingConfig, remarks: list[str] | None = None
) -> Waveform:
    """Read the recording of an utterance, or its excerpt.

    Start and end are rounded to the nearest samples. If an excerpt cannot be read separately (see `read_excerpt`), it
    is cut from the full recording after resampling. The full recording is cached for the next row, which is usually
    another excerpt of it; a worker then holds one full recording in memory.

    Args:
        remarks: a list to which remarks on the recording are added.

    Returns:
        [n_samples] float32.

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
        return read_waveform(path, sample_rate, config, inside=utterance.inside, remarks=remarks)
    start = round(utterance.start * sample_rate)
    stop = None if utterance.end is None else round(utterance.end * sample_rate)
    result = read_excerpt(path, sample_rate, start, stop, config, inside=utterance.inside, remarks=remarks)
    if result is None:
        recording, found = _full_recording(path, utterance.inside, sample_rate, config)
        if remarks is not None:
            remarks.extend(found)
        result = recording[start:stop], len(recording)
    excerpt, length = result
    if len(excerpt) == 0 or (stop or 0) > length + sample_rate // 10:
        end = "its end" if utterance.end is None else f"{utterance.end:g}"
        raise AudioError(
            f"{path.name}: {length / sample_rate:.3f} s long, expected an excerpt from {utterance.start:g} to {end} s"
        )
    if not excerpt.any():
        raise AudioError(f"{path.name}: digital silence from {utterance.start:g} s on, every sample is 0")
    return np.array(excerpt, np.float32)


@lru_cache(maxsize=1)
def _full_recording(path: Path, inside: str, sample_rate: int, config: ReadingConfig) -> tuple[Waveform, list[str]]:
    remarks: list[str] = []
    return read_waveform(path, sample_rate, config, inside=inside, remarks=remarks), remarks
