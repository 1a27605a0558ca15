"""The thresholds of measures beyond which utterances are suspect, and their reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tts_prep.errors import ConfigurationError


@dataclass(frozen=True)
class Threshold:
    """One reason to suspect an utterance.

    Attributes:
        reason: the name of the reason, as in the option ``--threshold``.
        measure: the column of `Measures`.
        above: whether values above the limit are suspect. Otherwise, values below it are.
        limit: the limit in the unit of the measure.
        why: the effect of such an utterance on training, or its cause.
        source: the source of the limit.
    """

    reason: str
    measure: str
    above: bool
    limit: float
    why: str
    source: str


THRESHOLDS = (
    Threshold(
        "silent",
        "peak",
        False,
        -60.0,
        "There is no speech: 60 dB below full scale is the noise of a room.",
        "convention: the default range of librosa.effects.trim, top_db=60",
    ),
    Threshold(
        "clipped",
        "clipped_samples",
        True,
        20,
        "Flat peaks distort; a model learns the distortion.",
        "measured: 20 clips of LJ Speech and 940 synthetic ones have none; clipping by 3 dB gives over 100",
    ),
    Threshold(
        "noisy",
        "snr",
        False,
        12.0,
        "A model learns the noise with the voice.",
        "chosen: 20 clips of LJ Speech have 18.6 dB at least; LibriTTS's clean subset has 20 dB (Zen et al., 2019)",
    ),
    Threshold(
        "silence-start",
        "silence_start",
        True,
        1.0,
        "Attention and duration models have no phone for it.",
        "chosen: 20 clips of LJ Speech have 0.08 s at most",
    ),
    Threshold(
        "silence-end",
        "silence_end",
        True,
        1.0,
        "Attention and duration models have no phone for it.",
        "chosen: 20 clips of LJ Speech have 0.08 s at most",
    ),
    Threshold(
        "silence-inside",
        "silence_inside",
        True,
        1.5,
        "A pause that no mark explains: two sentences, a page turned, a gap.",
        "chosen: 20 clips of LJ Speech have pauses of 0.39 s at most, a clip of LibriTTS 0.70 s",
    ),
    Threshold(
        "digital-silence",
        "digital_silence",
        True,
        0.05,
        "A room is never exactly zero: samples were lost or overwritten.",
        "chosen: half of the shortest gap planted in the measurement below",
    ),
    Threshold(
        "cut-start",
        "level_start",
        True,
        -20.0,
        "The recording begins in the middle of a sound.",
        "measured: the loudest start of 20 clips of LJ Speech is at −27 dB",
    ),
    Threshold(
        "cut-end",
        "level_end",
        True,
        -25.0,
        "The recording ends in the middle of a sound.",
        "measured: the loudest end of 32 clips of LJ Speech is at −29 dB",
    ),
    Threshold(
        "upsampled",
        "bandwidth_share",
        False,
        0.85,
        "The recording was made at a lower sample rate than the others; its voice sounds muffled.",
        "the step from 24 to 22.05 kHz is 0.92, from 22.05 to 16 kHz 0.73",
    ),
    Threshold(
        "audio-duplicate",
        "audio_copies",
        True,
        0,
        "The same samples came earlier: one of two texts is wrong, or the utterance counts twice.",
        "equal checksums",
    ),
    Threshold(
        "near-duplicate",
        "similarity",
        True,
        0.985,
        "Nearly the same mel came earlier: the same recording at another level or in another coding.",
        "measured: copies at 6 dB less have 0.99 and more, 99 % of other clips below 0.95",
    ),
    Threshold(
        "text-duplicate",
        "text_copies",
        True,
        0,
        "The same speaker has the same text earlier: it can be on both sides of a split, or be wrong.",
        "equal letters and digits",
    ),
    Threshold(
        "too-fast",
        "phone_rate",
        True,
        25.0,
        "More phones than anybody says: the recording is cut, or the text is of another one.",
        "chosen: 20 clips of LJ Speech have 13.1 phones/s at most",
    ),
    Threshold(
        "too-slow",
        "phone_rate",
        False,
        4.0,
        "Fewer phones than are said: words are missing in the text.",
        "chosen: 20 clips of LJ Speech have 9.0 phones/s at least",
    ),
    Threshold(
        "longer-than-text",
        "mismatch",
        True,
        3.0,
        "The recording is longer than this speaker takes for this text.",
        "three standard deviations, beyond which 0.27 % of normal residuals are",
    ),
    Threshold(
        "shorter-than-text",
        "mismatch",
        False,
        -3.0,
        "The recording is shorter than this speaker takes for this text.",
        "three standard deviations, beyond which 0.27 % of normal residuals are",
    ),
    Threshold(
        "wrong-text",
        "text_fit",
        False,
        0.45,
        "The recording says something else: texts of other recordings fit it as well.",
        "measured: 940 synthetic clips have 0.63 at least, 32 of LJ Speech 0.75; exchanged texts 0.28 at most",
    ),
    Threshold(
        "unspoken-end",
        "unspoken",
        True,
        1,
        "The end of the text is not to be heard: the recording is cut off, or the text of another one.",
        "measured: 940 synthetic clips and 32 of LJ Speech have none; one phone may be slurred",
    ),
)
"""All reasons with their default limits, in the order of output."""

REASONS = tuple(threshold.reason for threshold in THRESHOLDS)


def with_limits(limits: Mapping[str, float]) -> tuple[Threshold, ...]:
    """Return the thresholds with other limits for some reasons.

    Raises:
        ConfigurationError: a reason is unknown, or a limit is not a number.
    """
    for reason, limit in limits.items():
        if reason not in REASONS:
            raise ConfigurationError(f"threshold '{reason}': there is no such reason; there are {', '.join(REASONS)}")
        if math.isnan(limit):
            raise ConfigurationError(f"threshold '{reason}': expected a number, found nan")
    return tuple(replace(threshold, limit=limits.get(threshold.reason, threshold.limit)) for threshold in THRESHOLDS)
