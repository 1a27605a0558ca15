"""A feature: arrays computed from one utterance at a time, and the record of how it is made, described and shown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.manifest import Manifest
from tts_prep.preprocess.audio.cleaning import Cut
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import Energy, Mel, MelExtractor
from tts_prep.preprocess.source_utterance import SourceUtterance


@dataclass(frozen=True, eq=False)
class FeatureInput:
    """The input of a feature: one utterance. Expensive attributes are computed on first access.

    Attributes:
        id, speaker, text, phoneme_text: as in the index.
        phonemes: [n_phonemes] int32.
        n_frames: the number of frames of the mel in the store.
        extractor: the mel extractor of the store.
        read: returns the waveform from which the mel is computed.
        known: ``mel`` and ``energy``, if already computed.
        cut: the samples that trimming kept of the recording, or None.
        read_again: returns the waveform of which a store with other mel and reading settings would compute its mel;
            None without recordings.
        row: its row of the corpus; None where the corpus is not read.
    """

    id: str
    speaker: str
    text: str
    phoneme_text: str
    phonemes: npt.NDArray[np.int32]
    n_frames: int
    extractor: MelExtractor
    read: Callable[[], Waveform] = field(repr=False)
    known: Mapping[str, Array] = field(default_factory=dict, repr=False)
    cut: Cut | None = None
    read_again: Callable[[MelConfig, ReadingConfig], Waveform] | None = field(default=None, repr=False)
    row: SourceUtterance | None = field(default=None, repr=False)

    @property
    def recipe(self) -> MelConfig:
        """The mel settings."""
        return self.extractor.config

    @cached_property
    def waveform(self) -> Waveform:
        """The recording at the sample rate of the mel, at its original level, [n_samples] float32.

        Raises:
            AudioError: the recording cannot be read.
        """
        return self.read()

    def recorded(self, mel: MelConfig, reading: ReadingConfig) -> Waveform:
        """Return the recording as a store with other settings has it, at the sample rate of its mel.

        Raises:
            AudioError: the recording cannot be read.
            FeatureError: there are no recordings.
        """
        if self.read_again is None:
            raise FeatureError("is computed from recordings; give the corpus that the store was made from")
        return self.read_again(mel, reading)

    @cached_property
    def energy(self) -> Energy:
        """The norm of the magnitudes of every frame, [n_frames] float32."""
        if "energy" in self.known:
            return self.known["energy"]
        return self.extractor.with_energy(self.waveform)[1][: self.n_frames]

    @cached_property
    def mel(self) -> Mel:
        """The log-mel spectrogram before it is stored at half precision, [n_frames, n_mels] float32."""
        if "mel" in self.known:
            return self.known["mel"]
        return self.extractor(self.waveform)[: self.n_frames]


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """The result of a feature for one utterance.

    Attributes:
        arrays: the values by array name, matching the feature's specs.
        counted: masks [rows] by array name of the rows to include in the statistics; all rows without an entry.
        remarks: pairs (kind, what) that the run counts, such as ``("pitch", "all frames unvoiced")``.
    """

    arrays: Mapping[str, Array]
    counted: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


class Feature(Protocol):
    """Computes arrays of an utterance. It is sent to worker processes, so it must be picklable.

    The values depend only on the utterance, the mel settings, and the settings in the specs. A feature may have a
    method ``restored(arrays)`` that returns the values of an utterance from its stored arrays by name; without it,
    updates compute all rows of a changed shard.
    """

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The specifications of the arrays, with settings and versions of libraries."""

    def source(self, utterance_id: str, speaker: str) -> str | None:
        """Return what stands for the inputs of an utterance other than its recording, such as a checksum; or None."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the arrays of one utterance.

        Raises:
            UtteranceError: they cannot be computed, or do not match the utterance.
        """


class AlignedUtterance(Protocol):
    """The alignment of one utterance, to be applied to its recording and phonemes; methods can raise AlignmentError."""

    @property
    def phonemes(self) -> tuple[str, ...] | None:
        """The labels of phones as symbols; None if the frontend's phonemes are kept."""

    def within(self, cut: Cut, sample_rate: int, hop_length: int) -> AlignedUtterance:
        """Return the alignment of what trimming kept of the recording."""

    def cut(self, waveform: Waveform, sample_rate: int, hop_length: int) -> Waveform:
        """Return a recording without the silences at its ends, if they are to be cut."""

    def n_frames(self, sample_rate: int, hop_length: int, n_frames: int) -> int:
        """Return the number of mel frames to keep."""


class CorpusAlignments(Protocol):
    """The alignments of a corpus."""

    @property
    def settings(self) -> Any:
        """Their settings, which have a method ``as_dict``."""

    def read(self, utterance: SourceUtterance) -> AlignedUtterance:
        """Read the alignment of an utterance."""

    def with_checksums(self, items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
        """Yield the rows of a corpus with the checksums of their alignments, which become part of shard keys."""


def settings_of(config: Any) -> dict[str, Any]:
    """Return a dataclass of settings as JSON, without those that are None."""
    return {name: value for name, value in vars(config).items() if value is not None}


def setting(default: Any, text: str) -> Any:
    """Return a field of a dataclass of settings, with its default and its help."""
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class TrainedKind:
    """A feature whose model is trained on the store that it is added to.

    Attributes:
        settings: a dataclass of settings, as those of a `FeatureKind`; settings without help are those of the model.
        make: a function from the mel settings and the settings, which include the model, to the `Feature`.
        train: a function from a complete store, its manifest and the settings to the `Feature`, with a model.
    """

    settings: type
    make: Callable[[MelConfig, Any], Feature]
    train: Callable[[Path, Manifest, Any], Feature]


@dataclass(frozen=True)
class FeatureKind:
    """A feature that ``--feature NAME:KEY=VALUE,…`` makes.

    Attributes:
        name: the name.
        help: what it adds to a store, one line.
        make: a function from the mel settings and the settings of the feature to the `Feature`; a third argument is the
            path of the alignments, or None, for a feature that reads them.
        settings: a dataclass, whose fields are the settings (texts, numbers, or a mapping ``labels`` of texts, which
            is given as ``label.X=Y``); with `setting`, they have help. If None, ``make`` receives the texts by name.
        reads: what it is computed from: the ``recording``, or ``alignments``.
        other_names: what the feature is called elsewhere, for messages.
        columns: the numbers of each utterance that a report shows.
        of_array: the settings, as texts, of the array of a store that this feature has made, or None; for a feature
            whose arrays have other names than its own, which begin with the keys of its row.
        model: a class that is called with batches of a complete store, whose ``__init__`` has the settings.
    """

    name: str
    help: str
    make: Callable[..., Feature]
    settings: type | None = None
    reads: Literal["recording", "alignments"] = "recording"
    other_names: tuple[str, ...] = ()
    columns: tuple[FeatureColumn, ...] = ()
    of_array: Callable[[ArraySpec], Mapping[str, str] | None] = lambda _: None
    model: type | None = None

    @property
    def trained(self) -> TrainedKind | None:
        """How the feature is made without ``alignments``, by a model that is trained on the store."""
        row = doors.rows("trained").get(self.name)
        return row.load() if row else None

    def configured(self, texts: Mapping[str, str]) -> Any:
        """Return the settings for texts by name.

        Raises:
            ConfigurationError: a setting does not exist or has an invalid value.
        """
        return configured(self.name, self.settings, texts)

    def explained(self) -> list[tuple[str, str, str]]:
        """Return name, default and help of each setting."""
        if self.model:
            return list(doors.need("models", "explained")(self.model))
        trained = _explained(self.trained.settings) if self.trained else []
        return [*(_explained(self.settings) if self.settings else []), *trained]


def _explained(settings: type) -> list[tuple[str, str, str]]:
    rows = []
    for one, value in zip(fields(settings), vars(settings()).values(), strict=True):
        is_mapping = isinstance(value, Mapping)
        name = f"{one.name[:-1]}.X" if is_mapping else one.name
        default = "" if value is None or is_mapping else f"{value:g}" if isinstance(value, float) else str(value)
        if help_text := one.metadata.get("help", ""):
            rows.append((name, default, help_text))
    return rows


def configured(feature: str, settings: type | None, texts: Mapping[str, str]) -> Any:
    """Return the settings of a feature for texts by name; see `FeatureKind.configured`."""
    if settings is None:
        return texts
    hints = get_type_hints(settings)
    mappings = {f"{name[:-1]}.": name for name, hint in hints.items() if get_origin(hint) is not None and _maps(hint)}
    values: dict[str, Any] = {}
    for key, text in texts.items():
        prefix = next((prefix for prefix in mappings if key.startswith(prefix)), None)
        if prefix is not None:
            values.setdefault(mappings[prefix], {})[key.removeprefix(prefix)] = text
        elif key in hints and key not in mappings.values():
            values[key] = number_or_text(f"{feature}: {key}", hints[key], text)
        else:
            known = [name for name in hints if name not in mappings.values()]
            raise ConfigurationError(f"{feature}: expected the settings {', '.join(known)}, found {key!r}")
    defaults = settings()
    for name in mappings.values():
        values[name] = {**getattr(defaults, name), **values.get(name, {})}
    return settings(**values)


_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_model(found: object) -> bool:
    """Return whether an object is a class whose instances are called with batches."""
    return isinstance(found, type) and any("__call__" in vars(base) for base in found.__mro__)


def outputs_name(model: type) -> str:
    """Return the name of the outputs of a class together: its own, ``encodec_tokens`` for ``EncodecTokens``."""
    return _CAPITAL.sub("_", model.__name__).lower().strip("_")


def help_of(model: type) -> str:
    """Return the first line of a class's docstring."""
    return (inspect.getdoc(model) or "A model.").strip().splitlines()[0]


def kind_of(name: str, found: FeatureKind | Callable[..., Feature]) -> FeatureKind:
    """Return the record of a feature, also for a model, or a plain function of mel settings and texts by name."""
    if is_model(found):
        assert isinstance(found, type)
        return FeatureKind(name, help_of(found), _of_models, model=found)
    return found if isinstance(found, FeatureKind) else FeatureKind(name, "A feature of another package.", found)


A_MODEL: Final = (
    "feature: a model needs a complete store; make the store without it, and add it by 'tts-prep add STORE "
    "--feature NAME'"
)


def _of_models(_recipe: MelConfig, _settings: Any) -> Feature:
    """Raise an error: a model is not called with one utterance."""
    raise ConfigurationError(A_MODEL)


def _maps(hint: Any) -> bool:
    return isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping)


def number_or_text(where: str, hint: Any, text: str) -> Any:
    """Return the value of a setting: a number if its type is one, otherwise the text.

    Raises:
        ConfigurationError: a number is expected, and the text is none.
    """
    number = next((number for number in (float, int) if number in (hint, *get_args(hint))), None)
    if number is None:
        return text
    try:
        return number(text)
    except ValueError:
        raise ConfigurationError(f"{where}: expected a number, found {text!r}") from None


def hertz(unit: object, pitch: npt.NDArray[Any], voiced: npt.NDArray[Any] | None) -> npt.NDArray[np.float64]:
    """Return pitch in Hz, NaN where unvoiced, [n_frames].

    Args:
        unit: ``ln_hz`` for natural logarithms; any other value is Hz.
        pitch: [n_frames] values.
        voiced: [n_frames], nonzero for voiced frames. If None, frames with zero pitch are unvoiced.
    """
    values = np.asarray(pitch, np.float64)
    mask = values > 0 if voiced is None else np.asarray(voiced) > 0
    if unit == "ln_hz":
        # Limit the exponent to avoid overflow; the limit is higher than any pitch.
        values = np.exp(np.minimum(values, 20))
    return np.where(mask & np.isfinite(values), values, np.nan)


@dataclass(frozen=True, eq=False)
class FeatureArrays:
    """The arrays of one utterance of which a `FeatureColumn` makes a number.

    Attributes:
        arrays: name → [n_frames] or [n_phonemes] values.
        specs: name → specification, with the settings of the feature.
        frame_seconds: the time from one mel frame to the next.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    specs: Mapping[str, ArraySpec]
    frame_seconds: float


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else float("nan")


@dataclass(frozen=True)
class FeatureColumn:
    """One number for each utterance, made of arrays with one number per frame or phoneme.

    Attributes:
        array: the name of the array.
        unit: the unit of the number.
        meaning: one line for a page.
        name: the name in files; by default, that of the array.
        label: the displayed name; by default, the name with spaces.
        axis: the axis of the arrays.
        others: other arrays that the number is made of where a store has them.
        value: returns the number; by default, the mean of the array. NaN is a missing value.
    """

    array: str
    unit: str
    meaning: str = ""
    name: str = ""
    label: str = ""
    axis: Literal["frame", "phoneme"] = "frame"
    others: tuple[str, ...] = ()
    value: Callable[[FeatureArrays], float] | None = None

    def __post_init__(self) -> None:
        name = self.name or self.array
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "label", self.label or name.replace("_", " ").capitalize())

    def number(self, given: FeatureArrays) -> float:
        """Return the number of an utterance."""
        return self.value(given) if self.value else _mean(given.arrays[self.array])


def _mean_pitch(given: FeatureArrays) -> float:
    unit = given.specs["pitch"].settings.get("unit")
    track = hertz(unit, given.arrays["pitch"], given.arrays.get("voiced"))
    return _mean(track[np.isfinite(track)])


def _mean_length(given: FeatureArrays) -> float:
    durations = given.arrays["durations"]
    return _mean(durations[durations > 0]) * given.frame_seconds * 1000


PITCH: Final = FeatureColumn("pitch", "Hz", "Mean of the voiced frames.", others=("voiced",), value=_mean_pitch)
ENERGY: Final = FeatureColumn("energy", "L2 norm", "Mean of the frames.")
SYMBOL_LENGTH: Final = FeatureColumn(
    "durations",
    "ms",
    "Mean of the symbols with a duration.",
    name="symbol_length",
    label="Length of a symbol",
    axis="phoneme",
    value=_mean_length,
)

COLUMNS: Final = (PITCH, ENERGY, SYMBOL_LENGTH)
"""The columns of the built-in features."""
