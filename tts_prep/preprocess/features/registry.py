"""The features by name, including those of other packages, and parsing of their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess import plugins
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.alignments.alignment import AlignmentConfig
from tts_prep.preprocess.features.durations_feature import durations_feature
from tts_prep.preprocess.features.energy import EnergyConfig, EnergyFeature
from tts_prep.preprocess.features.feature import Feature
from tts_prep.preprocess.features.imported import ImportedArray
from tts_prep.preprocess.features.pitch import PitchConfig
from tts_prep.preprocess.features.pitch_feature import PitchFeature
from tts_prep.preprocess.features.spectrogram import SpectrogramConfig, SpectrogramFeature

FEATURES: Final = ("pitch", "energy", "durations", "spectrogram")

_OTHER_NAMES: Final = {"f0": "pitch", "duration": "durations", "spec": "spectrogram", "linear": "spectrogram"}
"""What features are called elsewhere."""

_SETTINGS: Final[Mapping[str, type]] = {
    "pitch": PitchConfig,
    "energy": EnergyConfig,
    "durations": AlignmentConfig,
    "spectrogram": SpectrogramConfig,
}


def parse_feature(text: str) -> tuple[str, dict[str, str]]:
    """Parse ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE`` to name and settings.

    Raises:
        ConfigurationError: a setting is malformed or repeated.
    """
    name, _, rest = text.partition(":")
    settings: dict[str, str] = {}
    for setting in filter(None, rest.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or not key or key in settings:
            raise ConfigurationError(
                f"feature: expected NAME or NAME:KEY=VALUE,KEY=VALUE, each key once, found {text[:80]!r}"
            )
        settings[key] = value
    return name, settings


def alignment_config(settings: Mapping[str, str]) -> AlignmentConfig:
    """Return the settings of ``durations``; ``label.X=Y`` maps the label X to the symbol Y.

    Raises:
        ConfigurationError: a setting does not exist or has an invalid value.
    """
    labels = {key.removeprefix("label."): value for key, value in settings.items() if key.startswith("label.")}
    plain = {key: value for key, value in settings.items() if not key.startswith("label.")}
    config: AlignmentConfig = _configured("durations", plain)
    return dataclasses.replace(config, labels={**config.labels, **labels})


def make_feature(name: str, settings: Mapping[str, str], recipe: MelConfig, alignments: Path | None = None) -> Feature:
    """Create a feature.

    Args:
        name: one of `FEATURES`, or the name of an entry point in the group `tts_prep.features`: a function of a
            `MelConfig` and of settings (strings by name) that returns a `Feature`.
        settings: values as strings, by name.
        recipe: the mel settings.
        alignments: the path of alignments, for ``durations``.

    Raises:
        ConfigurationError: the feature or a setting does not exist, or the feature cannot be created.
    """
    if name == "durations":
        return durations_feature(alignment_config(settings), alignments, recipe.sample_rate, recipe.hop_length)
    if name == "pitch":
        return PitchFeature.of(_configured(name, settings), recipe)
    if name == "energy":
        return EnergyFeature.of(_configured(name, settings), recipe)
    if name == "spectrogram":
        return SpectrogramFeature.of(_configured(name, settings), recipe)
    others = plugins.registered(plugins.FEATURES, FEATURES)
    if name not in others:
        known = ", ".join([*FEATURES, *others])
        meant = _OTHER_NAMES.get(name.lower())
        hint = f"; did you mean {meant!r}?" if meant else "; settings follow a colon" if "=" in name else ""
        raise ConfigurationError(f"feature: expected one of {known}, found {name!r}{hint}")
    make: Callable[[MelConfig, Mapping[str, str]], Feature] = plugins.load(others[name], "feature:")
    try:
        return make(recipe, settings)
    except (AttributeError, TypeError) as error:
        raise ConfigurationError(f"feature: {name!r} of {others[name].value} cannot be created ({error})") from error


def make_imported(text: str) -> ImportedArray:
    """Create an imported array from ``NAME@AXIS=PATH``, ``NAME=PATH`` (the axis ``own``) or ``NAME@own:RATE=PATH``.

    Raises:
        ConfigurationError: the text is malformed, or the path contains no array.
    """
    head, equals, path = text.partition("=")
    name, at, axis = head.partition("@")
    axis, colon, rate = axis.partition(":")
    if not (name and equals and path) or (at and not axis) or (colon and not rate):
        raise ConfigurationError(
            f"array: expected NAME=PATH, NAME@AXIS=PATH or NAME@own:RATE=PATH, found {text[:80]!r}"
        )
    hertz = _value(f"array '{name}'", "rate", float, rate) if colon else None
    return ImportedArray.of(name, Path(path), axis or "own", hertz)


def _configured(name: str, settings: Mapping[str, str]) -> Any:
    kind = _SETTINGS[name]
    hints = {key: hint for key, hint in get_type_hints(kind).items() if key != "labels"}
    values: dict[str, Any] = {}
    for key, text in settings.items():
        if key not in hints:
            raise ConfigurationError(f"{name}: expected the settings {', '.join(hints)}, found {key!r}")
        values[key] = _value(name, key, hints[key], text)
    return kind(**values)


def _value(where: str, key: str, hint: Any, text: str) -> Any:
    number = next((number for number in (float, int) if number in (hint, *get_args(hint))), None)
    if number is None:
        return text
    try:
        return number(text)
    except ValueError:
        raise ConfigurationError(f"{where}: {key}: expected a number, found {text!r}") from None
