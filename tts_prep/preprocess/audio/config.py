"""The recipe of a mel spectrogram, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.compression import Compression


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name}: expected a number over 0, found {value}")


_LIMITS = {
    "sample_rate": 1_000_000,
    "filter_bank_rate": 1_000_000,
    "n_fft": 65_536,
    "n_mels": 4096,
    "edge_zeros": 65_536,
}
"""Settings that memory and time grow with, each far beyond what a recipe has."""


def _at_most(name: str, value: int | None, limit: int) -> None:
    if value is not None and value > limit:
        raise ConfigurationError(f"{name}: expected at most {limit:,}, found {value:,}")


def _one_of(name: str, value: object, *allowed: object) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}: expected one of {', '.join(map(repr, allowed))}, found {value!r}")


@dataclass(frozen=True)
class MelConfig:
    """Every setting that a mel spectrogram depends on.

    Attributes:
        sample_rate: Hz; recordings at another rate are resampled.
        n_fft, win_length, hop_length: samples. The window is a Hann window of ``win_length``, zero-padded in the
            middle of ``n_fft``.
        periodic_window: whether the window is periodic (the sample after its last one would be 0), as in most recipes,
            or symmetric (its last sample is 0).
        framing: ``"center"`` (pad n_fft/2 on both sides, 1 + ⌊N/hop⌋ frames), ``"hifigan"`` (pad (n_fft − hop)/2 on
            both sides, no centring, ⌊N/hop⌋ frames) or ``"ceil"`` (pad to ⌈N/hop⌉ frames that cover whole hops).
        pad_mode: ``"reflect"`` or ``"constant"`` (zeros), for the samples that framing adds.
        edge_zeros: zero samples put at both ends before framing.
        drop_last_frame: leave out the last frame; with framing ``"center"`` ⌊N/hop⌋ remain.
        even_frames: drop the last frame where their number is odd.
        peak: the absolute peak that a recording is scaled to, or None to keep its level.
        power: exponent of the magnitude that the filter bank sees: 1 or 2.
        power_offset: added to ``|X|²``.
        power_floor: smallest ``|X|²`` (after the offset).
        n_mels, fmin, fmax: of the filter bank; Hz.
        mel_scale: ``"slaney"`` or ``"htk"``.
        mel_norm: ``"slaney"`` (triangles of equal area) or None (of equal height).
        filter_bank_rate: the sample rate that the filter bank is built for, None for ``sample_rate``. One known recipe
            differs here, by a mistake that its vocoders have learnt.
        compression: what happens to the mel magnitudes.
    """

    sample_rate: int = 22050
    n_fft: int = 1024
    win_length: int = 1024
    hop_length: int = 256
    periodic_window: bool = True
    framing: str = "center"
    pad_mode: str = "reflect"
    edge_zeros: int = 0
    drop_last_frame: bool = False
    even_frames: bool = False
    peak: float | None = None
    power: int = 1
    power_offset: float = 0.0
    power_floor: float = 0.0
    n_mels: int = 80
    fmin: float = 0.0
    fmax: float = 8000.0
    mel_scale: str = "slaney"
    mel_norm: str | None = "slaney"
    filter_bank_rate: int | None = None
    compression: Compression = field(default_factory=Compression)

    def __post_init__(self) -> None:
        for name in ("sample_rate", "n_fft", "win_length", "hop_length", "n_mels"):
            _positive(name, getattr(self, name))
        for name, limit in _LIMITS.items():
            _at_most(name, getattr(self, name), limit)
        _one_of("framing", self.framing, "center", "hifigan", "ceil")
        _one_of("pad_mode", self.pad_mode, "reflect", "constant")
        _one_of("power", self.power, 1, 2)
        _one_of("mel_scale", self.mel_scale, "slaney", "htk")
        _one_of("mel_norm", self.mel_norm, "slaney", None)
        if self.n_fft % 2:
            raise ConfigurationError(f"n_fft: expected an even number of samples, found {self.n_fft}")
        if self.win_length < 2:
            raise ConfigurationError(f"win_length: expected at least 2 samples, found {self.win_length}")
        if self.win_length > self.n_fft:
            raise ConfigurationError(f"win_length: expected at most n_fft = {self.n_fft}, found {self.win_length}")
        if self.hop_length > self.n_fft:
            raise ConfigurationError(f"hop_length: expected at most n_fft = {self.n_fft}, found {self.hop_length}")
        if not 0 <= self.fmin < self.fmax <= self.mel_rate / 2:
            raise ConfigurationError(
                f"fmin, fmax: expected 0 <= fmin < fmax <= {self.mel_rate / 2:g} Hz, "
                f"found {self.fmin:g} and {self.fmax:g}"
            )
        if self.peak is not None:
            _positive("peak", self.peak)
        if min(self.edge_zeros, self.power_offset, self.power_floor) < 0:
            raise ConfigurationError("edge_zeros, power_offset, power_floor: expected no negative number")

    @property
    def mel_rate(self) -> int:
        """The sample rate that the filter bank is built for, Hz."""
        return self.filter_bank_rate or self.sample_rate
