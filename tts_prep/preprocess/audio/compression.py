"""Compression of mel magnitudes to stored values, and its inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError


@dataclass(frozen=True)
class Compression:
    """A logarithm with a floor, an affine map and bounds.

    ``l = log(bounded(x))``; with a dynamic range, ``l = max(l, l.max() - dynamic_range)`` over the recording;
    ``y = clip(scale · l + offset, minimum, maximum)``.

    Attributes:
        log: ``"ln"`` or ``"log10"``.
        floor: the floor of the logarithm's argument.
        floor_mode: ``"max"`` for max(x, floor), ``"add"`` for x + floor.
        dynamic_range: clip logarithms to at most this much below the largest one of the recording; None does not clip.
            With it, every value depends on the full recording.
        scale, offset: the affine map after the logarithm.
        minimum, maximum: the bounds of the result; None is no bound.
    """

    log: str = "ln"
    floor: float = 1e-5
    floor_mode: str = "max"
    scale: float = 1.0
    offset: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
    dynamic_range: float | None = None

    def __post_init__(self) -> None:
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

    def transform(self, magnitudes: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the compressed magnitudes of one recording, of any shape, float32."""
        return self.transform_in_place(np.array(magnitudes, np.float32))

    def transform_in_place(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Compress the magnitudes of one recording, float32, in place, and return them."""
        bounded: Any = np.maximum if self.floor_mode == "max" else np.add
        bounded(values, np.float32(self.floor), out=values)
        (np.log if self.log == "ln" else np.log10)(values, out=values)
        if self.dynamic_range is not None and values.size:
            np.maximum(values, values.max() - np.float32(self.dynamic_range), out=values)
        if self.scale != 1:
            values *= np.float32(self.scale)
        if self.offset != 0:
            values += np.float32(self.offset)
        if self.minimum is not None or self.maximum is not None:
            np.clip(values, self.minimum, self.maximum, out=values)
        return values

    def inverse(self, values: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the magnitudes of compressed values, float32; clipped values give the bound."""
        logarithm = (np.asarray(values, np.float64) - self.offset) / self.scale
        magnitudes = np.exp(logarithm) if self.log == "ln" else np.power(10.0, logarithm)
        if self.floor_mode == "add":
            magnitudes = np.maximum(magnitudes - self.floor, 0)
        return np.asarray(magnitudes, np.float32)


def LogMagnitude(min: float = 1e-5) -> Compression:  # noqa: A002, N802 - names of Parakeet's API
    """Return ``ln(max(x, min))``."""
    return Compression(floor=min)


def UnitMagnitude(min: float = 1e-5) -> Compression:  # noqa: A002, N802
    """Return ``clip((20 · log10(max(x, min)) − 20 + 100) / 100, 0, 1)``: a range of 100 dB mapped to 0 to 1."""
    return Compression(log="log10", floor=min, scale=0.2, offset=0.8, minimum=0.0, maximum=1.0)
