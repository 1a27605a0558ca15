"""Utterances that are parts of longer recordings."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.missing import missing_recording
from tts_prep.preprocess.audio.reading import ReadingConfig, read_part, read_waveform, trim_silence
from tts_prep.preprocess.corpora.utterance import Utterance


def read_utterance(root: Path, utterance: Utterance, sample_rate: int, config: ReadingConfig) -> Waveform:
    """Read the recording of an utterance, or the part of it that the utterance is.

    A part begins and ends at the nearest samples. Where it cannot be read alone (see `read_part`), it is cut from the
    whole, after resampling, and the recording is kept for the next row, which is mostly another part of it; a worker
    then holds one whole recording.

    Returns:
        [n_samples] float32.

    Raises:
        AudioError: the recording is unusable, ends before the utterance begins, or is silent there.
    """
    path = root / utterance.audio
    # Unlike Path.exists, it raises nothing for a name that is too long or holds a NUL character.
    if not os.path.exists(path):  # noqa: PTH110
        raise AudioError(missing_recording(root, utterance.audio))
    if utterance.channel is not None:
        config = replace(config, channel=utterance.channel)
    if utterance.start == 0 and utterance.end is None:
        return read_waveform(path, sample_rate, config, inside=utterance.inside)
    start = round(utterance.start * sample_rate)
    stop = None if utterance.end is None else round(utterance.end * sample_rate)
    found = read_part(path, sample_rate, start, stop, config, inside=utterance.inside)
    if found is None:
        whole = _whole(path, utterance.inside, sample_rate, replace(config, trim_db=None))
        found = whole[start:stop], len(whole)
    part, length = found
    if len(part) == 0 or (stop or 0) > length + sample_rate // 10:
        end = "its end" if utterance.end is None else f"{utterance.end:g}"
        raise AudioError(
            f"{path.name}: {length / sample_rate:.3f} s long, expected a part from {utterance.start:g} to {end} s"
        )
    if not part.any():
        raise AudioError(f"{path.name}: digital silence from {utterance.start:g} s on, every sample is 0")
    if config.trim_db is not None:
        part = trim_silence(part, config.trim_db)
    return np.array(part, np.float32)


@lru_cache(maxsize=1)
def _whole(path: Path, inside: str, sample_rate: int, config: ReadingConfig) -> Waveform:
    return read_waveform(path, sample_rate, config, inside=inside)
