"""Cleaning of recordings, in a fixed order.

1. a high-pass filter, so that hum and offset do not affect trimming
2. trimming by energy or voice activity
3. cutting silences of an alignment (see `tts_prep.preprocess.features.alignments`)
4. loudness normalization
5. a limiter

Recordings are decoded and resampled before, and scaled to the peak of the preset, if it has one, after cleaning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning.config import GAIN, LIMITED, CleaningConfig
from tts_prep.preprocess.audio.cleaning.loudness import ABSOLUTE_GATE, BLOCK, loudness
from tts_prep.preprocess.audio.cleaning.trimming import Cut, energy_cut, voice_cut
from tts_prep.preprocess.audio.framing import Waveform

SILENT = 1e-5
"""The amplitude (-100 dBFS) up to which a recording is silent. librosa's trimming has the same minimum level."""


REACH = 0.01
"""The attack and release time of the limiter in seconds, a period of a low voice."""


@dataclass(frozen=True, eq=False)
class AdjustedLevel:
    """A recording after loudness normalization and limiter.

    Attributes:
        columns: column of the index → value.
        remarks: remarks that a run counts.
    """

    waveform: Waveform
    columns: dict[str, float]
    remarks: tuple[str, ...]


def filtered(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Waveform:
    """Apply the high-pass filter of the settings.

    Raises:
        AudioError: the result is silent.
    """
    if config.highpass is None:
        return waveform
    result = highpassed(waveform, sample_rate, config.highpass, config.highpass_order)
    _check_not_silent(result, f"after the high-pass filter at {config.highpass:g} Hz")
    return result


def trimming_cut(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Cut:
    """Return the samples to keep, including the margin.

    Raises:
        AudioError: the recording is silent, or has no loud frames or speech.
        MissingPackageError: the settings need a package that is not installed.
    """
    _check_not_silent(waveform, "so there is nothing to trim it to")
    by_energy = config.trim_db is not None
    cut = energy_cut(waveform, config) if by_energy else voice_cut(waveform, sample_rate, config)
    return cut.widened(margin_samples(sample_rate, config))


def margin_samples(sample_rate: int, config: CleaningConfig) -> int:
    """Return the margin in samples, rounded down as in NeMo."""
    return int(config.trim_margin * sample_rate)


def adjust_level(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> AdjustedLevel:
    """Apply the loudness normalization and the limiter of the settings.

    Raises:
        AudioError: the recording is too quiet for a loudness.
    """
    columns: dict[str, float] = {}
    remarks: list[str] = []
    if config.loudness is not None:
        shortest = math.ceil(BLOCK * sample_rate)
        if len(waveform) < shortest:
            remarks.append(f"shorter than {BLOCK:g} s, repeated up to there to measure its loudness")
        measured = loudness(waveform if len(waveform) >= shortest else np.resize(waveform, shortest), sample_rate)
        if not math.isfinite(measured):
            raise AudioError(f"too quiet for a loudness: nothing above {ABSOLUTE_GATE:g} LUFS")
        columns[GAIN] = config.loudness - measured
        waveform = waveform * np.float32(10 ** (columns[GAIN] / 20))
    if config.limiter is not None:
        waveform, columns[LIMITED] = limited(waveform, sample_rate, 10 ** (config.limiter / 20))
    return AdjustedLevel(waveform, columns, tuple(remarks))


def _check_not_silent(waveform: Waveform, when: str) -> None:
    if not len(waveform) or max(float(waveform.max()), -float(waveform.min())) <= SILENT:
        raise AudioError(f"silence, no sample above -100 dBFS, {when}")


def highpassed(waveform: Waveform, sample_rate: int, cutoff: float, order: int) -> Waveform:
    """Apply a high-pass filter.

    A Butterworth filter is applied forwards and backwards. It has zero phase, so that alignments remain valid, and
    twice the attenuation (6.02 dB at the cutoff). A single pass would delay low frequencies. The ends are extended by
    odd reflection, as in ``scipy.signal.sosfiltfilt``.

    Args:
        waveform: [n_samples] float32.
        sample_rate, cutoff: Hz.
    """
    from scipy.signal import butter, sosfiltfilt

    sos = butter(order, cutoff, "highpass", fs=sample_rate, output="sos")
    # scipy's default, limited for short recordings.
    default = 3 * (2 * len(sos) + 1 - min(int((sos[:, 2] == 0).sum()), int((sos[:, 5] == 0).sum())))
    return np.asarray(sosfiltfilt(sos, waveform, padlen=min(default, len(waveform) - 1)), np.float32)


def limited(waveform: Waveform, sample_rate: int, ceiling: float) -> tuple[Waveform, float]:
    """Limit the samples of a recording to a ceiling; return the result and the largest reduction in dB.

    The gain that a sample needs is the ceiling divided by its magnitude, at most 1. The applied gain is the minimum
    within REACH, smoothed by a triangular window of the same width. Each averaged gain is sufficient, so nothing is
    clipped, and samples further than two REACH from all peaks are unchanged. Sample peaks are limited, not true peaks.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.
        ceiling: the maximum magnitude, relative to full scale.
    """
    from scipy.ndimage import minimum_filter1d, uniform_filter1d

    peak = float(max(waveform.max(), -waveform.min()))
    if peak <= ceiling:
        return waveform, 0.0
    reach = 2 * max(1, round(REACH * sample_rate / 2))
    needed = np.minimum(1.0, ceiling / np.maximum(np.abs(waveform, dtype=np.float64), ceiling))
    least = minimum_filter1d(needed, 2 * reach + 1, mode="nearest")
    # Two moving averages form a triangular window, at a cost independent of its width.
    gain = uniform_filter1d(uniform_filter1d(least, reach + 1, mode="nearest"), reach + 1, mode="nearest")
    # Rounding may exceed the ceiling by the last bit.
    result = np.clip(waveform * gain, -ceiling, ceiling).astype(np.float32)
    return result, -20 * math.log10(float(gain.min()))
