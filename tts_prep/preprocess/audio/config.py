"""The settings of a mel spectrogram, its compression to stored values, and reading recordings for it."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.quantities import ShownRecord

PER_BIN: Final = ("bin_means", "bin_norms")
"""The settings with a number for each mel bin."""


@dataclass(frozen=True, repr=False)
class Compression(ShownRecord):
    """A logarithm with a floor, normalization by bin, an affine map and bounds.

    ``l = log(bounded(x))``; with a dynamic range, ``l = max(l, l.max() - dynamic_range)`` over the recording;
    ``n = (l - bin_means) / bin_norms``; ``y = clip(scale · n + offset, minimum, maximum)``; finally, the mean of each
    bin over the recording can be subtracted.

    Attributes:
        log: ``"ln"`` or ``"log10"``.
        floor: the floor of the logarithm's argument.
        floor_mode: ``"max"`` for max(x, floor), ``"add"`` for x + floor.
        dynamic_range: clip logarithms to at most this much below the largest one of the recording; None does not clip.
            With it, every value depends on the full recording.
        bin_means, bin_norms: a number for each mel bin, which is subtracted from logarithms, or by which they are
            divided, such as the means and standard deviations of a corpus, or ``mel_norms`` of Tortoise and XTTS.
        scale, offset: the affine map after the logarithm.
        minimum, maximum: the bounds of the result; None is no bound.
        subtract_mean: subtract the mean of each bin over the frames of the recording, as speaker models do. With it,
            every value depends on the full recording.
    """

    log: str = "ln"
    floor: float = 1e-5
    floor_mode: str = "max"
    scale: float = 1.0
    offset: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
    dynamic_range: float | None = None
    bin_means: tuple[float, ...] | None = None
    bin_norms: tuple[float, ...] | None = None
    subtract_mean: bool = False

    def __post_init__(self) -> None:
        for name in PER_BIN:
            if getattr(self, name) is not None:
                # A tuple, because lists of a file have no hash.
                object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if 0 in (self.bin_norms or ()):
            raise ConfigurationError("bin_norms: expected numbers that are not 0")
        if self.log not in ("ln", "log10"):
            raise ConfigurationError(f"log: expected 'ln' or 'log10', found {self.log!r}")
        if self.floor_mode not in ("max", "add"):
            raise ConfigurationError(f"floor_mode: expected 'max' or 'add', found {self.floor_mode!r}")
        if not (math.isfinite(self.floor) and self.floor >= np.finfo(np.float32).tiny):
            raise ConfigurationError(f"floor: expected a number > 0, found {self.floor}")
        if not (math.isfinite(self.scale) and self.scale != 0 and math.isfinite(self.offset)):
            raise ConfigurationError(
                f"scale and offset: expected finite numbers and scale not 0, found {self.scale}, {self.offset}"
            )

        if self.dynamic_range is not None and not (math.isfinite(self.dynamic_range) and self.dynamic_range > 0):
            raise ConfigurationError(f"dynamic_range: expected a number > 0, found {self.dynamic_range}")

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as in the manifest: those that came with a later version only if they are not default."""
        values = asdict(self)
        for name in (*PER_BIN, "subtract_mean"):
            if not values[name]:
                del values[name]
        return values | {name: list(values[name]) for name in PER_BIN if name in values}

    @property
    def has_bins(self) -> bool:
        """Whether there are settings with a number for each mel bin."""
        return any(getattr(self, name) is not None for name in PER_BIN)

    def transform(self, magnitudes: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the compressed magnitudes of one recording, float32.

        Args:
            magnitudes: of any shape; with settings per bin, [n_frames, n_mels] or [n_mels].
        """
        return self.transform_in_place(np.array(magnitudes, np.float32))

    def transform_in_place(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Compress the magnitudes of one recording, float32, in place, and return them."""
        floor = np.float32(self.floor)
        # This takes less time than np.maximum with a number, which is not vectorized.
        values.clip(floor, np.inf, out=values) if self.floor_mode == "max" else np.add(values, floor, out=values)
        (np.log if self.log == "ln" else np.log10)(values, out=values)
        if self.dynamic_range is not None and values.size:
            np.maximum(values, values.max() - np.float32(self.dynamic_range), out=values)
        if self.bin_means is not None:
            values -= np.array(self.bin_means, np.float32)
        if self.bin_norms is not None:
            values /= np.array(self.bin_norms, np.float32)
        if self.scale != 1:
            values *= np.float32(self.scale)
        if self.offset != 0:
            values += np.float32(self.offset)
        if self.minimum is not None or self.maximum is not None:
            np.clip(values, self.minimum, self.maximum, out=values)
        if self.subtract_mean and values.size:
            frames = values.reshape(-1, values.shape[-1])
            frames -= frames.mean(axis=0, dtype=np.float64).astype(np.float32)
        return values

    def inverse(self, values: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the magnitudes of compressed values, float32.

        Clipped values give the bound, and a subtracted mean is lost.
        """
        logarithm = (np.asarray(values, np.float64) - self.offset) / self.scale
        if self.bin_norms is not None:
            logarithm *= self.bin_norms
        if self.bin_means is not None:
            logarithm += self.bin_means
        magnitudes = np.exp(logarithm) if self.log == "ln" else np.power(10.0, logarithm)
        if self.floor_mode == "add":
            magnitudes = np.maximum(magnitudes - self.floor, 0)
        return np.asarray(magnitudes, np.float32)


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    numbers = tuple(values)
    if not numbers or not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise ConfigurationError(f"{name}: expected a finite number for each mel bin")
    return tuple(map(float, numbers))


def LogMagnitude(min: float = 1e-5) -> Compression:  # noqa: A002, N802 - names of Parakeet's API
    """Return ``ln(max(x, min))``."""
    return Compression(floor=min)


def UnitMagnitude(min: float = 1e-5) -> Compression:  # noqa: A002, N802
    """Return ``clip((20 · log10(max(x, min)) − 20 + 100) / 100, 0, 1)``: a range of 100 dB mapped to 0 to 1."""
    return Compression(log="log10", floor=min, scale=0.2, offset=0.8, minimum=0.0, maximum=1.0)


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name}: expected a number > 0, found {value}")


CHANNELS: Final = ("first", "mean", "power")
PEAK_MODES: Final = ("scale", "limit")
WRITTEN: Final = ("", "int16", "floor", "full", "half")

DEFAULT_RESAMPLER: Final = "soxr_hq"
RESAMPLERS: Final = ("soxr_vhq", "soxr_hq", "soxr_mq", "soxr_lq", "soxr_qq", "torchaudio", "ffmpeg")
"""The names of resamplers, as librosa's and torchaudio's documentation has them; ``ffmpeg`` is its default one."""

WINDOWS: Final = ("hann", "hamming", "blackman", "povey")
"""The windows of a mel spectrogram."""

_LIMITS = {
    **dict.fromkeys(("sample_rate", "filter_bank_rate", "least_length"), 1_000_000),
    **dict.fromkeys(("n_fft", "edge_zeros", "length_multiple"), 65_536),
    "n_mels": 4096,
}
"""Limits of settings that determine memory and time, far above those of any preset."""


def _at_most(name: str, value: int | None, limit: int) -> None:
    if value is not None and value > limit:
        raise ConfigurationError(f"{name}: expected at most {limit:,}, found {value:,}")


def _one_of(name: str, value: object, *allowed: object) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{name}: expected one of {', '.join(map(repr, allowed))}, found {value!r}")


@dataclass(frozen=True, repr=False)
class MelConfig(ShownRecord):
    """All settings that determine a mel spectrogram.

    Attributes:
        sample_rate: Hz; recordings with another rate are resampled.
        n_fft, win_length, hop_length: samples. The window has ``win_length`` and is zero-padded on both sides to
            ``n_fft``.
        window: ``"hann"``, ``"hamming"`` (0.54 − 0.46 cos), ``"blackman"`` (0.42 − 0.5 cos + 0.08 cos 2) or
            ``"povey"``, Kaldi's (0.5 − 0.5 cos)^0.85.
        periodic_window: the window is periodic, as in most presets; False makes it symmetric.
        framing: ``"center"`` (pad n_fft/2 on both sides, 1 + ⌊N/hop⌋ frames), ``"hifigan"`` (pad (n_fft − hop)/2 on
            both sides, no centring, ⌊N/hop⌋ frames), ``"ceil"`` (pad to ⌈N/hop⌉ frames that cover whole hops) or
            ``"snip"`` (1 + ⌊(N − win_length)/hop⌋ frames that are inside the recording, as Kaldi's ``snip_edges``).
        pad_mode: ``"reflect"`` or ``"constant"`` (zeros), for the padding of framing.
        edge_zeros: the number of zero samples added at both ends before framing.
        drop_last_frame: drop the last frame; with framing ``"center"``, ⌊N/hop⌋ remain.
        round_frames: keep ⌊N/hop + ½⌋ frames, as lhotse does; with framing ``"center"``, drop the last frame if less
            than half a hop of it is in the recording.
        even_frames: drop the last frame if the number of frames is odd.
        preemphasis: ``a`` of y[n] = x[n] − a · x[n − 1] with y[0] = x[0], applied to the recording before framing; 0
            applies none.
        frame_preemphasis: pre-emphasis is applied to each frame, with y[0] = (1 − a) · x[0], as Kaldi does.
        remove_dc: the mean of each frame's samples is subtracted, before pre-emphasis and window.
        peak: the absolute peak to which recordings are scaled; None keeps their level.
        peak_mode: ``"scale"`` scales every recording to ``peak``; ``"limit"`` those alone whose peak is larger.
        least_length, length_multiple: samples; zeros are appended to at least the first, and to a multiple of the
            second.
        power: the exponent of magnitudes before the filter bank: 1 or 2.
        power_offset: a constant added to ``|X|²``.
        power_floor: the floor of ``|X|²``, after the offset.
        n_mels, fmin, fmax: the number of mel bins, and the frequency range of the filter bank, Hz. With 0 bins, a store
            has no mels, and frames are a unit of time alone.
        mel_scale: ``"slaney"``, ``"htk"``, or ``"kaldi"``: HTK's scale with triangles over mels instead of Hz.
        mel_norm: ``"slaney"`` (triangles of equal area) or None (of equal height).
        filter_bank_rate: the sample rate for which the filter bank is built; None is ``sample_rate``. StyleTTS2 uses
            another one by mistake, and its models were trained with it.
        compression: the compression of mel magnitudes.
    """

    ALWAYS = ("sample_rate", "n_fft", "hop_length", "n_mels")

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
    window: str = "hann"
    round_frames: bool = False
    preemphasis: float = 0.0
    frame_preemphasis: bool = False
    remove_dc: bool = False
    peak_mode: str = "scale"
    length_multiple: int = 1
    least_length: int = 0

    def __post_init__(self) -> None:
        for name in ("sample_rate", "n_fft", "win_length", "hop_length", "length_multiple"):
            _positive(name, getattr(self, name))
        if self.n_mels < 0:
            raise ConfigurationError(f"n_mels: expected a number > 0, or none, found {self.n_mels}")
        for name, limit in _LIMITS.items():
            _at_most(name, getattr(self, name), limit)
        _one_of("framing", self.framing, "center", "hifigan", "ceil", "snip")
        _one_of("window", self.window, *WINDOWS)
        _one_of("peak_mode", self.peak_mode, *PEAK_MODES)
        _one_of("pad_mode", self.pad_mode, "reflect", "constant")
        _one_of("power", self.power, 1, 2)
        _one_of("mel_scale", self.mel_scale, "slaney", "htk", "kaldi")
        _one_of("mel_norm", self.mel_norm, *(("slaney",) if self.mel_scale != "kaldi" else ()), None)
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
        if not 0 <= self.preemphasis < 1:
            raise ConfigurationError(f"preemphasis: expected a number from 0 to 1, found {self.preemphasis}")
        if self.peak is not None:
            _positive("peak", self.peak)
        if min(self.edge_zeros, self.least_length, self.power_offset, self.power_floor) < 0:
            raise ConfigurationError("edge_zeros, least_length, power_offset, power_floor: expected numbers >= 0")
        for name in PER_BIN:
            values = getattr(self.compression, name)
            if values is not None and len(values) != self.n_mels:
                raise ConfigurationError(
                    f"compression.{name}: expected a number for each of {self.n_mels} mel bins, found {len(values)}"
                )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as in the manifest: those that came with a later version only if they are not default."""
        later = {
            "window": "hann",
            "round_frames": False,
            "preemphasis": 0.0,
            "frame_preemphasis": False,
            "remove_dc": False,
            "peak_mode": "scale",
            "length_multiple": 1,
            "least_length": 0,
        }
        values = asdict(self) | {"compression": self.compression.as_dict()}
        return {name: value for name, value in values.items() if name not in later or value != later[name]}

    @property
    def processes_frames(self) -> bool:
        """Whether frames are processed one by one before they are windowed."""
        return self.remove_dc or (self.frame_preemphasis and self.preemphasis > 0)

    @property
    def mel_rate(self) -> int:
        """The sample rate for which the filter bank is built, Hz."""
        return self.filter_bank_rate or self.sample_rate


@dataclass(frozen=True, repr=False)
class ReadingConfig(ShownRecord):
    """The settings for reading recordings.

    Attributes:
        channel: the treatment of several channels: ``"first"`` selects the first one; ``"mean"`` averages them;
            ``"power"`` divides the sum of two by √2, as ffmpeg does for samples of 32 bits; a number selects a channel,
            counted from 0.
        resampler: how recordings with another sample rate than that of the mel are resampled: ``"soxr_vhq"``,
            ``"soxr_hq"``, ``"soxr_mq"``, ``"soxr_lq"``, ``"soxr_qq"`` (soxr's qualities), ``"torchaudio"`` (a sinc
            with a Hann window, torchaudio's default) or ``"ffmpeg"`` (a sinc with a Kaiser window, ffmpeg's default).
        clips: samples beyond full scale are clipped, after resampling.
        through: the rate to which recordings are resampled first, Hz, and from there to that of the mel; 0 for none.
        written: how the system's own scripts write recordings, at the rate ``through`` if there is one: ``""`` (they
            do not), ``"int16"`` (rounded, as ffmpeg's s16le), ``"floor"`` (rounded down, as libsndfile's 16 bits),
            ``"full"`` (scaled to full scale, and the fraction cut off, as ming024's ``prepare_align``, in which the
            largest sample wraps round if it is positive) or ``"half"`` (the mean of the recording and of itself at a
            peak of 0.95, and the fraction cut off, as GPT-SoVITS's ``2-get-hubert-wav32k.py``).
    """

    channel: str | int = "first"
    resampler: str = DEFAULT_RESAMPLER
    clips: bool = False
    through: int = 0
    written: str = ""

    def __post_init__(self) -> None:
        if self.resampler not in RESAMPLERS:
            raise ConfigurationError(f"resampler: expected one of {', '.join(RESAMPLERS)}, found {self.resampler!r}")
        if self.channel not in CHANNELS and not isinstance(self.channel, int):
            raise ConfigurationError(f"channel: expected one of {', '.join(CHANNELS)}, found {self.channel!r}")
        _one_of("written", self.written, *WRITTEN)
        if not 0 <= self.through <= _LIMITS["sample_rate"]:
            raise ConfigurationError(f"through: expected a sample rate in Hz, or 0, found {self.through}")

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as in the manifest: but for ``channel`` only those that are not the default."""
        default = ReadingConfig(self.channel)
        return {
            name: value for name, value in asdict(self).items() if name == "channel" or value != getattr(default, name)
        }
