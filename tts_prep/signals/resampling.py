"""Resampling by the windowed sincs of torchaudio and ffmpeg."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tts_prep.preprocess.audio.framing import Waveform

# torchaudio's defaults: the number of zero crossings on each side, and the cut-off as a share of the lower rate's half.
_CROSSINGS, _ROLLOFF = 6, 0.99
# The defaults of ffmpeg's libswresample: filter_size, cutoff, kaiser_beta and 2 ** phase_shift.
_TAPS, _CUTOFF, _BETA, _MAX_PHASES = 32, 0.97, 9, 1024


def as_torchaudio(waveform: Waveform, rate: int, sample_rate: int) -> Waveform:
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


def as_ffmpeg(waveform: Waveform, rate: int, sample_rate: int) -> npt.NDArray[np.float64]:
    """Return what ffmpeg's libswresample makes of a waveform, without its rounding to float32, [n_new] float64.

    Recordings shorter than the filter, some 100 samples, are not as there.
    """
    divisor = math.gcd(rate, sample_rate)
    up, down = sample_rate // divisor, rate // divisor
    bank = _filters_of_ffmpeg(up, down)
    n_phases, n_taps = len(bank) - 1, bank.shape[1]
    centre = (n_taps - 1) // 2
    # The beginning is mirrored without its first sample. The end is, with its last one, as far as half of the samples
    # from the window on that was the first to lack one.
    first = max(0, -((n_taps - 1 - centre - len(waveform)) * up // down))
    lacking = min(len(waveform) - (first * down // up - centre), n_taps)
    n_new = max(0, -((n_taps - 1 - centre - len(waveform) - (lacking + 1) // 2) * up // down))
    mirrored = np.pad(np.pad(waveform.astype(np.float64), (n_taps, 0), "reflect"), (0, n_taps), "symmetric")
    windows = sliding_window_view(mirrored, n_taps)
    result = np.empty(n_new)
    for output in range(min(up, n_new)):
        whole, part = divmod(output * down, up)
        phase, between = divmod(part * n_phases, up)
        taps = bank[phase] + (bank[phase + 1] - bank[phase]) * (between / up)
        new = result[output::up]
        np.matmul(windows[n_taps - centre + whole :: down][: len(new)], taps, out=new)
    return result


@lru_cache(maxsize=16)
def _filters_of_ffmpeg(up: int, down: int) -> npt.NDArray[np.float64]:
    """Return the filters of ``up`` outputs between two samples, or of 1,024, [n_phases + 1, n_taps] float64."""
    from scipy.special import i0

    cutoff = min(up / down * _CUTOFF, 1.0)
    n_taps = math.ceil(_TAPS / cutoff)
    n_taps += n_taps % 2
    n_phases = min(up, _MAX_PHASES)
    times = np.arange(n_taps) - (n_taps - 1) // 2 - np.arange(n_phases + 1)[:, None] / n_phases
    bank = np.sinc(times * cutoff) * i0(_BETA * np.sqrt(np.maximum(1 - (2 * times / n_taps) ** 2, 0)))
    filters: npt.NDArray[np.float64] = bank / bank[0].sum()
    return filters
