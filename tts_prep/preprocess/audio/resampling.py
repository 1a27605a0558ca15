"""Resampling of waveforms by soxr, or by the windowed sinc of torchaudio."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import DEFAULT_RESAMPLER
from tts_prep.preprocess.audio.framing import Waveform

# torchaudio's defaults: the number of zero crossings on each side, and the cut-off as a share of the lower rate's half.
_CROSSINGS, _ROLLOFF = 6, 0.99


def resample(waveform: Waveform, rate: int, sample_rate: int, resampler: str = DEFAULT_RESAMPLER) -> Waveform:
    """Return a waveform at another sample rate.

    Args:
        waveform: [n_samples] float32.
        rate, sample_rate: the present and the new sample rate, Hz.
        resampler: one of `tts_prep.preprocess.audio.config.RESAMPLERS`.

    Returns:
        [n_new] float32: ⌈n_samples · sample_rate / rate⌉ samples. Where soxr returns one less, a zero follows, as in
        ``librosa.resample``.
    """
    if rate == sample_rate:
        return waveform
    if resampler == "torchaudio":
        return _windowed_sinc(waveform, rate, sample_rate)
    import soxr

    made = soxr.resample(waveform, rate, sample_rate, quality=resampler.removeprefix("soxr_").upper())
    # librosa's ratio is rounded before it is multiplied, which can make one more of the samples.
    n_samples = math.ceil(len(waveform) * (sample_rate / rate))
    result = np.zeros(n_samples, np.float32)
    result[: len(made)] = made[:n_samples]
    return result


def _windowed_sinc(waveform: Waveform, rate: int, sample_rate: int) -> Waveform:
    """Return Σ x[i] · h(i / rate − j / sample_rate) for all j; h is a sinc with a Hann window.

    The definition is that of ``torchaudio.transforms.Resample`` with its defaults. As the times are multiples of
    1 / (up · down), it is a polyphase filter, and only products with samples are computed.
    """
    from scipy.signal import upfirdn

    divisor = math.gcd(rate, sample_rate)
    up, down = sample_rate // divisor, rate // divisor
    taps = _taps(up, down)
    n_samples = -(-len(waveform) * up // down)
    # The filter is centred, so that its first outputs belong to times before the waveform.
    lead = len(taps) // 2
    before = -lead % down
    filtered = upfirdn(np.concatenate([np.zeros(before), taps]), waveform.astype(np.float64), up, down)
    first = (lead + before) // down
    result = np.zeros(n_samples, np.float32)
    part = filtered[first : first + n_samples]
    result[: len(part)] = part
    return result


@lru_cache(maxsize=16)
def _taps(up: int, down: int) -> npt.NDArray[np.float64]:
    """Return h at the multiples of 1 / (up · down) at which it is not 0, [odd] float64.

    torchaudio rounds the times of outputs, j / up, and the filter to float32. This changes samples by up to 3e-5, so it
    is done here too.
    """
    cutoff = min(up, down) * _ROLLOFF
    half = math.ceil(_CROSSINGS * up * down / cutoff)
    steps = np.arange(-half, half + 1)
    # A step is j · down − i · up, and up and down have no common divisor: it belongs to a single output j < up.
    outputs = steps * pow(down, -1, up) % up
    rounding = (outputs / up).astype(np.float32) - outputs / up
    time = np.clip((steps / (up * down) + rounding) * cutoff, -_CROSSINGS, _CROSSINGS)
    window = np.cos(time * np.pi / (2 * _CROSSINGS)) ** 2
    taps: npt.NDArray[np.float64] = (np.sinc(time) * window * (cutoff / down)).astype(np.float32).astype(np.float64)
    return taps
