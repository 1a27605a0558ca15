"""Compression of mel magnitudes to stored values, and its inverse."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

PER_BIN: Final = ("bin_means", "bin_norms")
"""The settings with a number for each mel bin."""


@dataclass(frozen=True)
class Compression:
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
        bounded: Any = np.maximum if self.floor_mode == "max" else np.add
        bounded(values, np.float32(self.floor), out=values)
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
