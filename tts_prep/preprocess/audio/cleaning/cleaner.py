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

from tts_prep.acoustics.loudness import ABSOLUTE_GATE, BLOCK, loudness
from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning.config import GAIN, LIMITED, CleaningConfig
from tts_prep.preprocess.audio.cleaning.highpass import highpassed
from tts_prep.preprocess.audio.cleaning.limiter import limited
from tts_prep.preprocess.audio.cleaning.trimming import Cut, energy_cut
from tts_prep.preprocess.audio.cleaning.voice_activity import voice_cut
from tts_prep.preprocess.audio.framing import Waveform

SILENT = 1e-5
"""The amplitude (-100 dBFS) up to which a recording is silent. librosa's trimming has the same minimum level."""


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
