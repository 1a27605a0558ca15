"""The mel kernel in scipy and numpy, used if the compiled kernel in `simd` is not available.

Unlike the compiled kernel, it can process frames one by one before they are windowed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank
from tts_prep.preprocess.audio.framing import Waveform

_BLOCK = 64
"""The number of frames per block, whose spectra fit into the second-level cache."""


def mel_frames(
    padded: Waveform,
    window: npt.NDArray[np.float64],
    config: MelConfig,
    bank: FilterBank,
    out: npt.NDArray[np.float32],
    energy: npt.NDArray[np.float32] | None,
) -> None:
    """Fill ``out`` with mel magnitudes, and ``energy`` with the norms of spectra.

    Args:
        padded: [n] float32, the samples of all frames.
        window: [n_fft] float64.
        out: [n_frames, n_mels] float32.
        energy: [n_frames] float32, √Σ|X|² over the bins 0 to n_fft / 2; None if it is not wanted.
    """
    from scipy.fft import rfft

    dense = np.zeros((bank.n_bins, config.n_mels), np.float32)
    for m, (start, first, stop) in enumerate(zip(bank.starts, bank.offsets, bank.offsets[1:], strict=False)):
        dense[start : start + stop - first, m] = bank.weights[first:stop]
    frames = np.lib.stride_tricks.sliding_window_view(padded, config.n_fft)[:: config.hop_length]
    for first in range(0, len(out), _BLOCK):
        block = out[first : first + _BLOCK]
        spectrum = rfft(_processed(frames[first : first + len(block)], config) * window, axis=1)
        if energy is not None:
            energy[first : first + len(block)] = np.linalg.norm(spectrum, axis=1)
        spectrum = spectrum[:, : bank.n_bins]
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        power += np.float32(config.power_offset)
        np.maximum(power, np.float32(config.power_floor), out=power)
        if config.power == 1:
            np.sqrt(power, out=power)
        np.matmul(power, dense, out=block)


def _processed(frames: npt.NDArray[np.float32], config: MelConfig) -> npt.NDArray[Any]:
    """Return frames without their mean and with pre-emphasis, where settings say so.

    Args:
        frames: [n_frames, n_fft] float32.
    """
    if not config.processes_frames:
        return frames
    left = (config.n_fft - config.win_length) // 2
    # The window is 0 outside these samples.
    result = frames.astype(np.float64)
    samples = result[:, left : left + config.win_length]
    if config.remove_dc:
        samples -= samples.mean(axis=1, keepdims=True)
    if config.frame_preemphasis:
        samples -= config.preemphasis * samples[:, [0, *range(config.win_length - 1)]]
    return result


def bin_moments(mel: npt.NDArray[np.float32]) -> tuple[Any, Any]:
    """Return mean and sum of squared deviations of every bin, [n_mels] float64 each.

    Args:
        mel: [n_frames, n_mels] float32, at least one frame.
    """
    mean = mel.mean(axis=0, dtype=np.float64)
    return mean, np.square(mel - mean).sum(axis=0)
