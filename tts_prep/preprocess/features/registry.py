"""The features by name, including those of other packages."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.feature import Feature, FeatureKind, configured, is_model, kind_of


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
