"""A high-pass filter that delays nothing."""

from __future__ import annotations

import numpy as np

from tts_prep.preprocess.audio.framing import Waveform


def highpassed(waveform: Waveform, sample_rate: int, cutoff: float, order: int) -> Waveform:
    """Return a recording without what lies below a frequency.

    A Butterworth filter, forwards and backwards: its phase is zero, so that nothing moves against alignments, and its
    attenuation counts twice (6.02 dB at the cutoff). Filtered once, low frequencies would come later than high ones.
    The ends are extended by odd reflection, as ``scipy.signal.sosfiltfilt`` does.

    Args:
        waveform: [n_samples] float32.
        sample_rate, cutoff: Hz.
    """
    from scipy.signal import butter, sosfiltfilt

    sos = butter(order, cutoff, "highpass", fs=sample_rate, output="sos")
    # scipy's own length, bounded for recordings that are shorter.
    default = 3 * (2 * len(sos) + 1 - min(int((sos[:, 2] == 0).sum()), int((sos[:, 5] == 0).sum())))
    return np.asarray(sosfiltfilt(sos, waveform, padlen=min(default, len(waveform) - 1)), np.float32)
