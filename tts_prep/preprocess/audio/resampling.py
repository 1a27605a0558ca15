"""Resampling of waveforms by soxr, or as another system does it."""

import math

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.preprocess.audio.config import DEFAULT_RESAMPLER
from tts_prep.preprocess.audio.framing import Waveform


def resample(
    waveform: Waveform, rate: int, sample_rate: int, resampler: str = DEFAULT_RESAMPLER
) -> Waveform | npt.NDArray[np.float64]:
    """Return a waveform at another sample rate.

    Args:
        waveform: [n_samples] float32.
        rate, sample_rate: the present and the new sample rate, Hz.
        resampler: one of `tts_prep.preprocess.audio.config.RESAMPLERS`.

    Returns:
        [n_new] float32, and float64 of ``ffmpeg``: ⌈n_samples · sample_rate / rate⌉ samples. Where soxr returns one
        less, a zero follows, as in ``librosa.resample``; ffmpeg returns up to one less or more.
    """
    if rate == sample_rate:
        return waveform
    if not resampler.startswith("soxr_"):
        resampled: npt.NDArray[np.float64] = doors.need("resamplers", resampler)(waveform, rate, sample_rate)
        return resampled
    import soxr

    made = soxr.resample(waveform, rate, sample_rate, quality=resampler.removeprefix("soxr_").upper())
    # librosa's ratio is rounded before it is multiplied, which can make one more of the samples.
    n_samples = math.ceil(len(waveform) * (sample_rate / rate))
    result = np.zeros(n_samples, np.float32)
    result[: len(made)] = made[:n_samples]
    return result
