"""The settings of cleaning."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.quantities import ShownRecord

REFERENCES: Final = ("loudest_frame", "peak")

TRIMMED_START: Final = "trimmed_start"
TRIMMED_END: Final = "trimmed_end"
GAIN: Final = "gain_db"
LIMITED: Final = "limited_db"

_STEPS: Final = ("highpass", "trim_db", "trim_vad", "loudness", "limiter")
"""The settings that enable a step."""

_OF_STEP: Final = {
    "highpass_order": ("highpass",),
    "trim_margin": ("trim_db", "trim_vad"),
    "trim_min_frames": ("trim_db", "trim_vad"),
    "trim_reference": ("trim_db",),
    "trim_frame_length": ("trim_db",),
    "trim_hop_length": ("trim_db",),
}
"""Setting → the steps that use it."""


@dataclass(frozen=True, repr=False)
class CleaningConfig(ShownRecord):
    """The settings of cleaning. If the setting of a step is None, the step is disabled.

    Attributes:
        highpass: the cutoff of the high-pass filter in Hz.
        highpass_order: the order of the Butterworth filter, which is applied forwards and backwards.
        trim_db: trim to the first and last frame whose level is at most this number of dB below the reference.
        trim_reference: ``loudest_frame``, the frame with the highest RMS level (librosa, ParallelWaveGAN, ESPnet), or
            ``peak``, the largest sample (NeMo).
        trim_frame_length, trim_hop_length: frame length and hop of these frames in samples.
        trim_vad: trim to the first and last frame with at least this probability of speech.
        trim_min_frames: the minimum number of consecutive frames that are loud, or speech.
        trim_margin: the margin at both ends in seconds.
        loudness: the target of the integrated loudness in LUFS.
        limiter: the maximum level of samples in dBFS.
    """

    highpass: float | None = None
    highpass_order: int = 4
    trim_db: float | None = None
    trim_reference: str = "loudest_frame"
    trim_frame_length: int = 2048
    trim_hop_length: int = 512
    trim_vad: float | None = None
    trim_min_frames: int = 1
    trim_margin: float = 0.1
    loudness: float | None = None
    limiter: float | None = None

    def __post_init__(self) -> None:
        def expect(name: str, expected: str, *, good: bool) -> None:
            if not good:
                raise ConfigurationError(f"{name}: expected {expected}, found {getattr(self, name)}")

        def finite(value: float | None, low: float, high: float) -> bool:
            return value is None or (math.isfinite(value) and low <= value <= high)

        expect("highpass", "1 to 1,000 Hz", good=finite(self.highpass, 1, 1000))
        expect("highpass_order", "1 to 10", good=1 <= self.highpass_order <= 10)
        expect("trim_db", "a number of dB over 0", good=finite(self.trim_db, 1e-9, 1000))
        expect("trim_reference", f"one of {', '.join(REFERENCES)}", good=self.trim_reference in REFERENCES)
        expect("trim_frame_length", "16 to 65,536 samples", good=16 <= self.trim_frame_length <= 65_536)
        expect("trim_hop_length", "1 to trim_frame_length", good=1 <= self.trim_hop_length <= self.trim_frame_length)
        expect("trim_vad", "a probability over 0 and below 1", good=finite(self.trim_vad, 1e-9, 1 - 1e-9))
        expect("trim_min_frames", "1 to 1,000", good=1 <= self.trim_min_frames <= 1000)
        expect("trim_margin", "0 to 3,600 seconds", good=finite(self.trim_margin, 0, 3600))
        expect("loudness", "-70 to 0 LUFS", good=finite(self.loudness, -70, 0))
        expect("limiter", "-60 to 0 dBFS", good=finite(self.limiter, -60, 0))
        if self.trim_db is not None and self.trim_vad is not None:
            raise ConfigurationError("trim_db, trim_vad: expected one way of trimming, found both; leave one out")

    def _has(self, step: str) -> bool:
        return getattr(self, step) is not None

    @property
    def trims(self) -> bool:
        """Whether recordings are trimmed."""
        return self.trim_db is not None or self.trim_vad is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the index with the results: trimmed seconds, gain and reduction in dB."""
        return (
            *((TRIMMED_START, TRIMMED_END) if self.trims else ()),
            *((GAIN,) if self.loudness is not None else ()),
            *((LIMITED,) if self.limiter is not None else ()),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that have an effect, for the manifest."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and (name in _STEPS or any(self._has(step) for step in _OF_STEP[name]))
        }

    def check(self, sample_rate: int, peak: float | None) -> None:
        """Check that every setting has an effect, and is not undone by the mel settings.

        Args:
            sample_rate: the sample rate of the mel in Hz.
            peak: the peak to which recordings are scaled for the mel, or None.

        Raises:
            ConfigurationError: a setting has no effect.
        """
        for field in fields(self):
            steps = _OF_STEP.get(field.name, ())
            if steps and getattr(self, field.name) != field.default and not any(self._has(step) for step in steps):
                raise ConfigurationError(f"{field.name}: has no effect without {' or '.join(steps)}; give that too")
        if self.loudness is not None and peak is not None:
            raise ConfigurationError(
                f"loudness: the preset scales every recording to a peak of {peak:g} afterwards, which "
                "undoes it; give --peak none (peak = 'none' in the table 'audio'), or leave loudness out"
            )
        if self.highpass is not None and self.highpass >= sample_rate / 2:
            raise ConfigurationError(
                f"highpass: expected less than {sample_rate / 2:g} Hz, half the sample rate, found {self.highpass:g}"
            )


@dataclass(frozen=True)
class Cut:
    """The samples of a recording that are kept.

    Attributes:
        start, stop: the first sample, and the one after the last.
        n_samples: the length of the untrimmed recording.
    """

    start: int
    stop: int
    n_samples: int

    def widened(self, margin: int) -> Cut:
        """Extend the cut at both ends by a number of samples, within the recording."""
        return Cut(max(0, self.start - margin), min(self.n_samples, self.stop + margin), self.n_samples)


def margin_samples(sample_rate: int, config: CleaningConfig) -> int:
    """Return the margin in samples, rounded down as in NeMo."""
    return int(config.trim_margin * sample_rate)
