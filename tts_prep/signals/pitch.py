"""Pitch: the fundamental frequency at the centre of each mel frame, and whether the frame is voiced.

Pitch trackers return one value per hop, the first one at sample 0. With framing that pads (n_fft − hop) / 2, mel frames
are centred half a hop later. All trackers use `TrackerGrid`, because a misaligned track is hard to notice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import distributions, packages_distributions, version
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import import_librosa
from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform, frame_padding, n_frames
from tts_prep.preprocess.features.feature import FeatureInput, FeatureValues
from tts_prep.preprocess.features.kinds import PITCH, FeatureKind, setting, settings_of

# Specifications are asked for with each utterance; to read a version takes a millisecond.
_version_of = cache(version)


def first_centre(n_samples: int, config: MelConfig) -> int:
    """Return the sample at which the first mel frame of a waveform is centred. Frame *t* is t · hop_length later.

    It is negative if the settings add zeros before the waveform (``edge_zeros``).

    Raises:
        AudioError: the waveform is too short for the framing.
    """
    left, _ = frame_padding(n_samples, config)
    return config.n_fft // 2 - left - config.edge_zeros


@dataclass(frozen=True)
class TrackerGrid:
    """Padding and selection that align a tracker with one value per hop with the mel frames of a waveform.

    Attributes:
        lead: the number of zeros to add before the waveform.
        first: the index of the tracker's value for mel frame 0.
        n_frames: the number of mel frames.
        hop_length: samples.
    """

    lead: int
    first: int
    n_frames: int
    hop_length: int

    @classmethod
    def of(cls, n_samples: int, config: MelConfig) -> TrackerGrid:
        """Return the grid of a waveform's mel frames.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        centre = first_centre(n_samples, config)
        lead = -centre % config.hop_length if centre > 0 else -centre
        return cls(lead, (centre + lead) // config.hop_length, n_frames(n_samples, config), config.hop_length)

    def padded(self, waveform: Waveform, tail: int = 0) -> Waveform:
        """Return the waveform with the leading zeros and ``tail`` trailing zeros."""
        return np.pad(waveform, (self.lead, tail)) if self.lead or tail else waveform

    def select(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Select the values of the mel frames, [n_frames], from those of a tracker; missing ones are 0."""
        selected = values[self.first : self.first + self.n_frames]
        return np.pad(selected, (0, self.n_frames - len(selected)))


Track = npt.NDArray[np.float64]

ALGORITHMS: Final = ("dio", "harvest", "pyin")
UNITS: Final = ("hz", "ln_hz")
UNVOICED: Final = ("zero", "interpolated")

# WORLD's defaults; for pyin the notes C2 and C7, as in NVIDIA's FastPitch and NeMo.
_RANGES: Final = {"dio": (71.0, 800.0), "harvest": (71.0, 800.0), "pyin": (440 * 2 ** (-33 / 12), 440 * 2 ** (27 / 12))}


@dataclass(frozen=True)
class PitchConfig:
    """The settings of pitch."""

    algorithm: str = setting(
        "dio", "dio (WORLD's DIO, refined by StoneMask), harvest (WORLD) or pyin (probabilistic YIN of librosa)"
    )
    floor: float | None = setting(None, "Hz; by default 71 for WORLD, 65.4 (C2) for pyin")
    ceiling: float | None = setting(None, "Hz; by default 800 for WORLD, 2093 (C7) for pyin")
    unvoiced: str = setting(
        "zero", "values of unvoiced frames: zero, or interpolated linearly between voiced frames, constant at the ends"
    )
    unit: str = setting("hz", "hz, or ln_hz, the natural logarithm, taken after interpolation; zeros remain zeros")
    frame_length: int = setting(1024, "samples; for pyin only")

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("algorithm", self.algorithm, ALGORITHMS),
            ("unvoiced", self.unvoiced, UNVOICED),
            ("unit", self.unit, UNITS),
        ):
            if value not in allowed:
                raise ConfigurationError(f"pitch: {name}: expected one of {', '.join(allowed)}, found {value!r}")

    def resolved(self, sample_rate: int) -> PitchConfig:
        """Return the settings with defaults of floor and ceiling filled in.

        Raises:
            ConfigurationError: the range is empty or exceeds half the sample rate, or the frame is too short for it.
        """
        low, high = _RANGES[self.algorithm]
        low = low if self.floor is None else self.floor
        high = high if self.ceiling is None else self.ceiling
        if not (math.isfinite(low) and math.isfinite(high) and 0 < low < high <= sample_rate / 2):
            raise ConfigurationError(
                f"pitch: expected 0 < floor < ceiling <= {sample_rate / 2:g} Hz, found {low:g} and {high:g}"
            )
        # librosa requires two periods of the floor per frame.
        if self.algorithm == "pyin" and sample_rate / low >= self.frame_length // 2:
            raise ConfigurationError(
                f"pitch: pyin needs two periods of the floor in a frame: {low:g} Hz at {sample_rate} Hz needs a "
                f"frame_length of {2 * math.floor(sample_rate / low) + 2}, found {self.frame_length}"
            )
        return replace(self, floor=low, ceiling=high)


@dataclass(frozen=True, eq=False)
class Pitch:
    """The pitch of one utterance.

    Attributes:
        pitch: [n_frames] float32, in the configured unit.
        voiced: [n_frames] uint8, 1 for voiced frames.
    """

    pitch: npt.NDArray[np.float32]
    voiced: npt.NDArray[np.uint8]


def pitch_of(waveform: Waveform, config: MelConfig, settings: PitchConfig) -> Pitch:
    """Return the pitch at the centres of the mel frames of a waveform.

    Args:
        waveform: [n_samples] at the sample rate of the mel.

    Raises:
        AudioError: the waveform is too short for the framing.
        ConfigurationError: floor, ceiling or frame length is invalid.
        MissingPackageError: the library of the algorithm is not installed.
    """
    settings = settings.resolved(config.sample_rate)
    grid = TrackerGrid.of(len(waveform), config)
    track = _pyin if settings.algorithm == "pyin" else _world
    values = grid.select(track(waveform, grid, config.sample_rate, settings))
    voiced = values > 0
    if settings.unvoiced == "interpolated":
        values = interpolate_unvoiced(values)
    if settings.unit == "ln_hz":
        values = np.log(values, out=np.zeros_like(values), where=values > 0)
    return Pitch(values.astype(np.float32), voiced.astype(np.uint8))


def interpolate_unvoiced(values: Track) -> Track:
    """Interpolate the zeros of a track linearly, with constant ends. A track of zeros is unchanged."""
    voiced = np.flatnonzero(values)
    return np.interp(np.arange(len(values)), voiced, values[voiced]) if len(voiced) else values


def world_frames(n_samples: int, sample_rate: int, frame_period: float) -> int:
    """Return the number of values that WORLD returns for a waveform.

    It is ⌊1000 · n / rate / period⌋ + 1 in floating point, which is one too few for some integer numbers of hops. See
    ``GetSamplesForDIO`` in WORLD's ``dio.cpp``.

    Args:
        frame_period: milliseconds.
    """
    return int(1000.0 * n_samples / sample_rate / frame_period) + 1


def _world(waveform: Waveform, grid: TrackerGrid, sample_rate: int, settings: PitchConfig) -> Track:
    pyworld = import_pyworld()
    period = 1000 * grid.hop_length / sample_rate
    n_samples = grid.lead + len(waveform)
    tail = 0
    if world_frames(n_samples, sample_rate, period) < grid.first + grid.n_frames:
        # Half a hop beyond the last centre, so that rounding cannot lose its value.
        tail = max(1, (grid.first + grid.n_frames - 1) * grid.hop_length + grid.hop_length // 2 + 1 - n_samples)
    x = grid.padded(waveform, tail).astype(np.float64)
    estimate = pyworld.harvest if settings.algorithm == "harvest" else pyworld.dio
    values, times = estimate(x, sample_rate, f0_floor=settings.floor, f0_ceil=settings.ceiling, frame_period=period)
    if settings.algorithm == "dio":
        values = pyworld.stonemask(x, values, times, sample_rate)
    return np.asarray(values, np.float64)


def import_pyworld() -> ModuleType:
    """Import pyworld.

    Raises:
        MissingPackageError: pyworld is not installed.
    """
    try:
        import pyworld
    except ImportError as error:
        raise MissingPackageError(
            "pitch: dio and harvest need pyworld, which is not installed; pip install 'tts-prep[pitch]', or use "
            "algorithm=pyin"
        ) from error
    return pyworld


def _pyin(waveform: Waveform, grid: TrackerGrid, sample_rate: int, settings: PitchConfig) -> Track:
    librosa = import_librosa()
    floor, ceiling = settings.floor, settings.ceiling
    assert floor is not None
    assert ceiling is not None
    # librosa returns one value per hop from sample 0 to the end.
    tail = max(0, (grid.first + grid.n_frames - 1) * grid.hop_length - grid.lead - len(waveform))
    values, voiced, _ = librosa.pyin(
        grid.padded(waveform, tail),
        fmin=floor,
        fmax=ceiling,
        sr=sample_rate,
        frame_length=settings.frame_length,
        hop_length=grid.hop_length,
        fill_na=None,
    )
    return np.where(voiced, values, 0.0)


@dataclass(frozen=True)
class PitchFeature:
    """The pitch and the voicing of every mel frame.

    The statistics of ``pitch`` are over voiced frames.
    """

    settings: PitchConfig

    @classmethod
    def of(cls, settings: PitchConfig, recipe: MelConfig) -> PitchFeature:
        """Return the feature with defaults of floor and ceiling filled in.

        Raises:
            ConfigurationError: the settings are invalid for the sample rate.
            MissingPackageError: pyworld is required and not installed.
        """
        if settings.algorithm != "pyin":
            import_pyworld()
        return cls(settings.resolved(recipe.sample_rate))

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``pitch`` [n_frames] float32 and ``voiced`` [n_frames] uint8."""
        settings = settings_of(self.settings)
        if self.settings.algorithm == "pyin":
            software = {"librosa": _version_of("librosa")}
        else:
            settings.pop("frame_length")
            software = {"pyworld": _pyworld_version()}
        voicing = {name: settings[name] for name in settings if name not in ("unvoiced", "unit")}
        return (
            ArraySpec("pitch", "float32", (), "frame", settings=settings, software=software),
            ArraySpec("voiced", "uint8", (), "frame", settings=voicing, software=software),
        )

    def source(self, utterance_id: str, speaker: str) -> None:
        """Return None: pitch is computed from the recording."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return pitch and voicing of one utterance."""
        result = pitch_of(utterance.waveform, utterance.recipe, self.settings)
        pitch, voiced = result.pitch[: utterance.n_frames], result.voiced[: utterance.n_frames]
        return self.restored({"pitch": pitch, "voiced": voiced})

    def restored(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FeatureValues:
        """Return the values of one utterance from its arrays."""
        voiced = arrays["voiced"]
        remarks = () if voiced.any() else (("pitch", "no voiced frame"),)
        return FeatureValues(arrays, {"pitch": voiced.astype(np.bool_)}, remarks)


@lru_cache(maxsize=1)
def _pyworld_version() -> str:
    # Both provide the module. Where neither is installed, the files of all packages are read, which takes 0.4 s.
    names = [name for name in ("pyworld", "pyworld-prebuilt") if [*distributions(name=name)]]
    for name in names or packages_distributions().get("pyworld", []):
        return f"{name} {version(name)}"
    raise ConfigurationError("pitch: the version of pyworld is unknown; reinstall it")


KIND: Final = FeatureKind(
    "pitch",
    "pitch and voiced, the fundamental frequency and the voicing of every mel frame",
    lambda recipe, settings: PitchFeature.of(settings, recipe),
    PitchConfig,
    other_names=("f0",),
    columns=(PITCH,),
)
