"""The record of a feature: how it is made, and what commands, messages and reports say about it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.manifest import Manifest
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.columns import FeatureColumn
from tts_prep.preprocess.features.feature import Feature


def setting(default: Any, text: str) -> Any:
    """Return a field of a dataclass of settings, with its default and its help."""
    if isinstance(default, Mapping):
        return dataclasses.field(default_factory=lambda: default, metadata={"help": text})
    return dataclasses.field(default=default, metadata={"help": text})


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
        model: a class that is called with batches of a complete store, whose ``__init__`` has the settings.
    """

    name: str
    help: str
    make: Callable[..., Feature]
    settings: type | None = None
    reads: Literal["recording", "alignments"] = "recording"
    other_names: tuple[str, ...] = ()
    columns: tuple[FeatureColumn, ...] = ()
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
    for field, value in zip(dataclasses.fields(settings), vars(settings()).values(), strict=True):
        is_mapping = isinstance(value, Mapping)
        name = f"{field.name[:-1]}.X" if is_mapping else field.name
        default = "" if value is None or is_mapping else f"{value:g}" if isinstance(value, float) else str(value)
        if help_text := field.metadata.get("help", ""):
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
