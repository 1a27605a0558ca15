"""Cleaning a recording, in a fixed order.

1. high-pass, so that hum and offset do not count as sound
2. trimming, by energy or by voice activity
3. silences of an alignment, where they are cut (see `tts_prep.preprocess.features.alignments`)
4. loudness, of what is left
5. limiter, of the peaks that this brings

A recording is decoded and resampled before, and scaled to the peak of the mel's recipe after, where that has one.
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
"""Amplitude, -100 dBFS: what is nowhere above it is silence. librosa's trimming takes it for the lowest level."""


@dataclass(frozen=True, eq=False)
class Levelled:
    """A recording at its final level.

    Attributes:
        columns: column of the index → its value.
        remarks: what a run counts.
    """

    waveform: Waveform
    columns: dict[str, float]
    remarks: tuple[str, ...]


def filtered(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Waveform:
    """Return a recording after the high-pass filter.

    Raises:
        AudioError: nothing is left of it.
    """
    if config.highpass is None:
        return waveform
    found = highpassed(waveform, sample_rate, config.highpass, config.highpass_order)
    _check_heard(found, f"after the high-pass filter at {config.highpass:g} Hz")
    return found


def trimming_cut(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Cut:
    """Return the samples that trimming keeps, with the margin.

    Raises:
        AudioError: nothing is left.
        MissingPackageError: the settings need a package that is not installed.
    """
    _check_heard(waveform, "so there is nothing to trim it to")
    by_energy = config.trim_db is not None
    cut = energy_cut(waveform, config) if by_energy else voice_cut(waveform, sample_rate, config)
    return cut.widened(margin_samples(sample_rate, config))


def margin_samples(sample_rate: int, config: CleaningConfig) -> int:
    """Return the samples of the margin, rounded down as NeMo does."""
    return int(config.trim_margin * sample_rate)


def levelled(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Levelled:
    """Return a recording at the loudness of the settings, its peaks limited.

    Raises:
        AudioError: it is too quiet to have a loudness.
    """
    columns: dict[str, float] = {}
    remarks: list[str] = []
    if config.loudness is not None:
        shortest = math.ceil(BLOCK * sample_rate)
        if len(waveform) < shortest:
            remarks.append(f"shorter than {BLOCK:g} s, repeated up to there to measure its loudness")
        found = loudness(waveform if len(waveform) >= shortest else np.resize(waveform, shortest), sample_rate)
        if not math.isfinite(found):
            raise AudioError(f"too quiet for a loudness: nothing above {ABSOLUTE_GATE:g} LUFS")
        columns[GAIN] = config.loudness - found
        waveform = waveform * np.float32(10 ** (columns[GAIN] / 20))
    if config.limiter is not None:
        waveform, columns[LIMITED] = limited(waveform, sample_rate, 10 ** (config.limiter / 20))
    return Levelled(waveform, columns, tuple(remarks))


def _check_heard(waveform: Waveform, when: str) -> None:
    if not len(waveform) or max(float(waveform.max()), -float(waveform.min())) <= SILENT:
        raise AudioError(f"silence, no sample above -100 dBFS, {when}")
