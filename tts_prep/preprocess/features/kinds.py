"""The features that can be asked for by name, including those of other packages, and the numbers of their arrays."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import A_MODEL, ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.feature import Feature


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
    kinds = {name: get_origin(hint) for name, hint in hints.items()}
    mappings = {f"{name[:-1]}.": name for name, of in kinds.items() if isinstance(of, type) and issubclass(of, Mapping)}
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


def kind_of(name: str, found: FeatureKind | Callable[..., Feature]) -> FeatureKind:
    """Return the record of a feature, also for a model, or a plain function of mel settings and texts by name."""
    if is_model(found):
        assert isinstance(found, type)
        text = inspect.getdoc(found) or "A model."
        return FeatureKind(name, text.strip().splitlines()[0], _of_models, model=found)
    return found if isinstance(found, FeatureKind) else FeatureKind(name, "A feature of another package.", found)


def _of_models(_recipe: MelConfig, _settings: Any) -> Feature:
    """Raise an error: a model is not called with one utterance."""
    raise ConfigurationError(A_MODEL)


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


def built_in_features() -> Iterator[FeatureKind]:
    """Yield the features of this package."""
    for row in doors.rows("features").values():
        yield row.load()


def get_feature(name: str) -> FeatureKind:
    """Return the record of a feature.

    Raises:
        ConfigurationError: there is none of this name, or its package cannot be loaded.
    """
    own = doors.rows("features")
    if name in own:
        kind: FeatureKind = own[name].load()
        return kind
    if ":" in name:
        return _of_module(name)
    others = doors.others("features")
    if name not in others:
        known = ", ".join([*own, *others])
        meant = next((kind.name for kind in built_in_features() if name.lower() in kind.other_names), None)
        hint = f"; did you mean {meant!r}?" if meant else "; settings follow a colon" if "=" in name else ""
        raise ConfigurationError(f"feature: expected one of {known}, found {name!r}{hint}")
    found = doors.load("features", others[name], "feature:", _is_feature, "a FeatureKind or a function")
    return replace(kind_of(name, found), name=name)


def _of_module(path: str) -> FeatureKind:
    """Return the record of a model or a feature that a user names as ``MODULE:NAME``."""
    found = doors.import_named(path, "feature")
    if not isinstance(found, FeatureKind) and not is_model(found):
        raise ConfigurationError(f"feature: {path!r}: expected a class with the method __call__, or a FeatureKind")
    return kind_of(path, found)


def recorded_feature(spec: ArraySpec) -> tuple[str, dict[str, str]] | None:
    """Return name and settings of the built-in feature that makes an array; None if there is none."""
    rows = doors.rows("features").values()
    if any(row.name == spec.name for row in rows):
        return spec.name, {key: str(value) for key, value in spec.settings.items()}
    found = next((row for row in rows if row.keys and spec.name.startswith(row.keys)), None)
    texts = found.load().of_array(spec) if found else None
    return (found.name, texts) if found and texts is not None else None


def all_features() -> list[FeatureKind]:
    """Return the built-in features, and those of other packages that can be loaded."""
    others = map(_loadable, doors.others("features"))
    return [*built_in_features(), *(kind for kind in others if kind)]


def _loadable(name: str) -> FeatureKind | None:
    try:
        return get_feature(name)
    except ConfigurationError:
        # Using it prints the error.
        return None


def _is_feature(found: object) -> bool:
    return isinstance(found, FeatureKind) or callable(found)


def parse_feature(text: str) -> tuple[str, dict[str, str]]:
    """Parse ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE`` to name and settings; a name can be ``MODULE:CLASS``.

    Raises:
        ConfigurationError: a setting is malformed or repeated.
    """
    name, _, rest = text.partition(":")
    first, _, others = rest.partition(":")
    if first.isidentifier() and name not in doors.rows("features") and name not in doors.others("features"):
        name, rest = f"{name}:{first}", others
    settings: dict[str, str] = {}
    for setting in filter(None, rest.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or not key or key in settings:
            raise ConfigurationError(
                f"feature: expected NAME or NAME:KEY=VALUE,KEY=VALUE, each key once, found {text[:80]!r}"
            )
        settings[key] = value
    return name, settings


def make_feature(name: str, settings: Mapping[str, str], recipe: MelConfig, alignments: Path | None = None) -> Feature:
    """Create a feature.

    Example:
        >>> from tts_prep.preprocess import PRESETS, make_feature
        >>> energy = make_feature("energy", {}, PRESETS["hifigan"])
        >>> [(spec.name, spec.axis) for spec in energy.specs]
        [('energy', 'frame')]

    Args:
        name: one of those of 'tts-prep features': of this package, or an entry point of the group `tts_prep.features`.
        settings: values as strings, by name.
        recipe: the mel settings.
        alignments: the path of alignments, for ``durations``. Without, `tts_prep.preprocess.add_durations` makes them.

    Raises:
        ConfigurationError: the feature or a setting does not exist, or the feature cannot be created.
    """
    kind = get_feature(name)
    if kind.trained and alignments is None:
        return kind.trained.make(recipe, configured(name, kind.trained.settings, settings))
    path = (alignments,) if kind.reads == "alignments" else ()
    if name in doors.rows("features"):
        return kind.make(recipe, kind.configured(settings), *path)
    try:
        return kind.make(recipe, kind.configured(settings), *path)
    except (AttributeError, TypeError) as error:
        where = doors.others("features")[name].place
        raise ConfigurationError(f"feature: {name!r} of {where} cannot be created ({error})") from error
