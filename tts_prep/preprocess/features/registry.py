"""The features by name, those of other packages by their entry points, and reading their settings out of texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.alignments.alignment import AlignmentConfig
from tts_prep.preprocess.features.durations_feature import durations_feature
from tts_prep.preprocess.features.energy import EnergyConfig, EnergyFeature
from tts_prep.preprocess.features.feature import Feature
from tts_prep.preprocess.features.imported import ImportedArray
from tts_prep.preprocess.features.pitch import PitchConfig
from tts_prep.preprocess.features.pitch_feature import PitchFeature
from tts_prep.preprocess.features.spectrogram import SpectrogramConfig, SpectrogramFeature

ENTRY_POINTS: Final = "tts_prep.features"
"""The group of entry points by which other packages bring features.

An entry point is a function of a `MelConfig` and of settings, texts by name, that returns a `Feature`.
"""

FEATURES: Final = ("pitch", "energy", "durations", "spectrogram")

_SETTINGS: Final[Mapping[str, type]] = {
    "pitch": PitchConfig,
    "energy": EnergyConfig,
    "durations": AlignmentConfig,
    "spectrogram": SpectrogramConfig,
}


def parse_feature(text: str) -> tuple[str, dict[str, str]]:
    """Return name and settings of ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE``.

    Raises:
        ConfigurationError: a setting has another form, or stands twice.
    """
    name, _, rest = text.partition(":")
    settings: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key or key in settings:
            raise ConfigurationError(
                f"feature: expected NAME or NAME:KEY=VALUE,KEY=VALUE, each key once, found {text[:80]!r}"
            )
        settings[key] = value
    return name, settings


def alignment_config(settings: Mapping[str, str]) -> AlignmentConfig:
    """Return the settings of ``durations``; ``label.X=Y`` puts the symbol Y in the place of the label X.

    Raises:
        ConfigurationError: there is no such setting, or it has no such value.
    """
    labels = {key.removeprefix("label."): value for key, value in settings.items() if key.startswith("label.")}
    plain = {key: value for key, value in settings.items() if not key.startswith("label.")}
    config: AlignmentConfig = _configured("durations", plain)
    return dataclasses.replace(config, labels={**config.labels, **labels})


def make_feature(name: str, settings: Mapping[str, str], recipe: MelConfig, alignments: Path | None = None) -> Feature:
    """Make a feature.

    Args:
        name: one of `FEATURES`, or the name of an entry point of the group `ENTRY_POINTS`.
        settings: texts by name.
        recipe: of the mel.
        alignments: where the alignments lie, for ``durations``.

    Raises:
        ConfigurationError: there is no such feature or setting, or it cannot be computed here.
    """
    if name == "durations":
        return durations_feature(alignment_config(settings), alignments, recipe.sample_rate, recipe.hop_length)
    if name == "pitch":
        return PitchFeature.of(_configured(name, settings), recipe)
    if name == "energy":
        return EnergyFeature.of(_configured(name, settings), recipe)
    if name == "spectrogram":
        return SpectrogramFeature.of(_configured(name, settings), recipe)
    found = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        known = ", ".join([*FEATURES, *sorted(found)])
        raise ConfigurationError(f"feature: expected one of {known}, found {name!r}")
    try:
        make: Callable[[MelConfig, Mapping[str, str]], Feature] = found[name].load()
        return make(recipe, settings)
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"feature '{name}' of {found[name].value}: cannot be made ({error})") from error


def make_imported(text: str) -> ImportedArray:
    """Make the array that ``NAME@AXIS=PATH`` describes; ``NAME=PATH`` has rows of its own, ``NAME@own:RATE`` a rate.

    Raises:
        ConfigurationError: the text has another form, or the path holds no array.
    """
    head, equals, path = text.partition("=")
    name, at, axis = head.partition("@")
    axis, colon, rate = axis.partition(":")
    if not (name and equals and path) or (at and not axis) or (colon and not rate):
        raise ConfigurationError(
            f"array: expected NAME=PATH, NAME@AXIS=PATH or NAME@own:RATE=PATH, found {text[:80]!r}"
        )
    hertz = _value(f"array '{name}'", "rate", "float", rate) if colon else None
    return ImportedArray.of(name, Path(path), axis or "own", hertz)


def _configured(name: str, settings: Mapping[str, str]) -> Any:
    kind = _SETTINGS[name]
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name != "labels"}
    values: dict[str, Any] = {}
    for key, text in settings.items():
        if key not in fields:
            raise ConfigurationError(f"{name}: expected the settings {', '.join(fields)}, found {key!r}")
        values[key] = _value(name, key, str(fields[key].type), text)
    return kind(**values)


def _value(where: str, key: str, kind: str, text: str) -> Any:
    if "float" not in kind and "int" not in kind:
        return text
    try:
        return float(text) if "float" in kind else int(text)
    except ValueError:
        raise ConfigurationError(f"{where}: {key}: expected a number, found {text!r}") from None
