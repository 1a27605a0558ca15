"""Measures of waveforms."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics import levels as sound
from tts_prep.checks.distortions import Peaks, clipped_samples, hum, saturation
from tts_prep.compiler import Compiled
from tts_prep.signals.cleaner import loudness

_TRANSFORM = 1024
"""The length of the transform of `bandwidth` in samples."""

_MANY_FRAMES = 32
"""The number of frames from which on every second one is enough for the mean of a spectrum."""

_FRAMES = 24
"""The number of frames that are transformed at a time; memory for more is not reused, but taken from the system."""

BANDWIDTH_DB = 70.0
"""The level relative to the strongest frequency at which the spectrum ends."""

_EDGE = 0.01
"""The duration at both ends whose level is measured, in seconds."""


@dataclass(frozen=True, eq=False)
class Waveform:
    """The waveform of one utterance, and what several of its measures have in common.

    Attributes:
        samples: [n_samples] int16, or float from -1 to 1.
        sample_rate: Hz.
    """

    samples: npt.NDArray[Any]
    sample_rate: int

    @cached_property
    def full_scale(self) -> float:
        """The sample value of full scale."""
        return 32768.0 if self.samples.dtype == np.int16 else 1.0

    @cached_property
    def peak(self) -> float:
        """The largest magnitude of a sample, relative to full scale."""
        return self.peaks.largest() / self.full_scale

    @cached_property
    def peaks(self) -> Peaks:
        """The peaks of short blocks."""
        return Peaks.of(self.samples, self.sample_rate)

    @cached_property
    def sums(self) -> sound.SampleSums:
        """Sums over the samples."""
        return sound.sum_samples(self.samples, self.full_scale, max(sound.LEAST * self.peak, sound.LEAST_MAGNITUDE))

    @cached_property
    def levels(self) -> npt.NDArray[np.float64]:
        """The power of every frame, [n_frames]."""
        return sound.frame_levels(self.sums)

    @cached_property
    def silence(self) -> sound.Silences:
        """The silences."""
        return sound.silences(self.levels, sound.HOP / self.sample_rate, len(self.samples) / self.sample_rate)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The levels of both ends in dB."""
        n = max(1, round(_EDGE * self.sample_rate))
        powers = (_power(self.samples[:n], self.full_scale), _power(self.samples[-n:], self.full_scale))
        return sound.edge_levels(powers, self.levels)

    def peak_level(self) -> float:
        """Return the peak in dBFS."""
        return sound.decibels(self.peak**2)

    def loudness(self) -> float:
        """Return the integrated loudness in LUFS."""
        return loudness(self.samples, self.sample_rate, self.full_scale)

    def snr(self) -> float:
        """Return the signal-to-noise ratio in dB."""
        return sound.wada_snr(self.sums) if self.peak else math.nan

    def hum(self) -> float:
        """Return the level of hum relative to the recording in dB."""
        power = float(self.sums.squares.sum()) / max(1, len(self.samples))
        return hum(self.samples, self.sample_rate, self.full_scale, power)

    def saturation(self) -> float:
        """Return the share of peaks that are as high as the highest."""
        return saturation(self.peaks)

    def clipped_samples(self) -> float:
        """Return the number of samples of flat peaks."""
        return float(clipped_samples(self.peaks, self.full_scale))

    def digital_silence(self) -> float:
        """Return the longest run of zeros between other values in seconds."""
        return digital_silence(self.samples) / self.sample_rate

    def bandwidth(self) -> float:
        """Return the highest frequency with energy in Hz."""
        return bandwidth(self.samples, self.sample_rate)


def _power(samples: npt.NDArray[Any], full_scale: float) -> float:
    values = samples.astype(np.float32) / np.float32(full_scale)
    return float(np.dot(values, values)) / max(1, len(values))


def digital_silence(samples: npt.NDArray[Any]) -> int:
    """Return the length of the longest run of zeros between other values, in samples."""
    return int(_longest_zeros(samples))


@Compiled
def _longest_zeros(samples: Any) -> int:
    """Return `digital_silence`. Only runs that are longer than the longest so far are read completely."""
    start, stop, longest = 0, len(samples), 0
    while start < stop and samples[start] == 0:
        start += 1
    while start < stop and samples[stop - 1] == 0:
        stop -= 1
    while start + longest < stop:
        # A longer run from here on has this zero, and all before it.
        last = start + longest
        while last >= start and samples[last] == 0:
            last -= 1
        if last < start:
            last = start + longest + 1
            while samples[last] == 0:
                last += 1
            longest = last - start
        start = last + 1
    return longest


def bandwidth(samples: npt.NDArray[Any], sample_rate: int) -> float:
    """Return the highest frequency with energy in Hz; NaN for silence and recordings shorter than one transform.

    The power spectra of Hann-windowed frames of 1,024 samples are averaged over the recording: of adjacent frames, or
    of every second one if there are at least _MANY_FRAMES. The result is the highest frequency within BANDWIDTH_DB of
    the strongest one.
    """
    n = len(samples) // _TRANSFORM
    if not n:
        return math.nan
    every = 1 if n < _MANY_FRAMES else 2
    power = np.zeros(_TRANSFORM + 2)
    for start in range(0, n, every * _FRAMES):
        frames = samples[start * _TRANSFORM : min(start + every * _FRAMES, n) * _TRANSFORM]
        windowed = np.empty((-(-len(frames) // (every * _TRANSFORM)), _TRANSFORM), np.float32)
        _window(frames, every * _TRANSFORM, _HANN, windowed)
        _add_squares(_rfft()(windowed, axis=1).view(np.float32), power)
    power = power.reshape(-1, 2).sum(axis=1)
    strongest = float(power.max())
    if strongest <= 0:
        return math.nan
    highest = int(np.flatnonzero(power > strongest * 10 ** (-BANDWIDTH_DB / 10))[-1])
    return highest * sample_rate / _TRANSFORM


@lru_cache(maxsize=1)
def _rfft() -> Callable[..., Any]:
    """Return scipy's transform, which takes a fifth of the time of numpy's, or numpy's without scipy."""
    transform: Callable[..., Any]
    try:
        from scipy.fft import rfft
    except ImportError:
        transform = np.fft.rfft
    else:
        transform = rfft
    return transform


_HANN = np.hanning(_TRANSFORM + 1)[:-1].astype(np.float32)


@Compiled
def _window(samples: Any, step: int, window: Any, frames: Any) -> None:
    """Fill frames, [n_frames, len(window)] float32, with windowed samples; a frame begins every ``step`` samples."""
    for number in range(len(frames)):
        part, frame = samples[number * step : number * step + len(window)], frames[number]
        for i in range(len(window)):
            frame[i] = np.float32(part[i]) * window[i]


@Compiled
def _add_squares(rows: Any, sums: Any) -> None:
    """Add the squares of the columns of rows, [n_rows, n], to sums, [n] float64."""
    for row in rows:
        for i in range(len(sums)):
            value = np.float64(row[i])
            sums[i] += value * value
