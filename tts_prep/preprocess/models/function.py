"""A function over batches of utterances: what it asks for, what it returns, and how its values are checked."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from tts_prep.errors import ConfigurationError, FeatureError, UtteranceError, one_line
from tts_prep.format.contents.array_file import checked_values
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec

WAVEFORMS: Final = "waveforms"
SAMPLE_RATE: Final = "sample_rate"
DEVICE: Final = "device"
BATCH_SECONDS: Final = 60.0
"""The default of the maximum duration of a batch, padded."""

_REASON: Final = 300
"""The maximum number of characters of the reason why an utterance has no value."""


@dataclass(frozen=True)
class Missing:
    """The reason why an utterance has no value, one line."""

    reason: str


Values: TypeAlias = "Mapping[str, Any]"
"""Output → value of one utterance: an array, a number or a text."""


@dataclass(frozen=True)
class ModelFunction:
    """A function, or a class whose instances are functions, and how it is called; sent to processes.

    Attributes:
        name: the name of the array, or of all outputs together.
        function: see `tts_prep.preprocess.add_array`.
        settings: what a class is created with, and what is recorded.
        arrays: the arrays that it returns, if it declares none.
        sample_rate, batch_seconds: None takes those that the function declares.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: tuple[ArraySpec, ...] = ()
    sample_rate: int | None = None
    batch_seconds: float | None = None

    @property
    def where(self) -> str:
        """``MODULE:NAME`` of the function."""
        return f"{self.function.__module__}:{getattr(self.function, '__qualname__', type(self.function).__name__)}"


@dataclass(frozen=True)
class Description:
    """What a loaded function asks for and returns.

    Attributes:
        arrays: the arrays, with all that is recorded.
        columns: the names of the numbers (float) and texts (str) that it returns.
        inputs: the names that it is called with.
        sample_rate: that of the waveforms, Hz; None for that of the store.
        batch_seconds: the maximum duration of a batch: its number of utterances times the longest.
        settings, software: what is recorded with all outputs.
    """

    arrays: tuple[ArraySpec, ...]
    columns: Mapping[str, type]
    inputs: tuple[str, ...]
    sample_rate: int | None
    batch_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all outputs."""
        return (*(spec.name for spec in self.arrays), *self.columns)


class LoadedModel:
    """A function in the process that calls it.

    Args:
        device: passed to a class whose ``__init__`` names it.
        known: the arguments that there are; others are left out if they have a default.

    Raises:
        ConfigurationError: the function cannot be loaded, or what it declares is not valid.
    """

    def __init__(self, model: ModelFunction, device: str, known: Collection[str]) -> None:
        self._call = _loaded(model, device)
        self.description = _description(model, self._call, known)

    def __call__(self, inputs: Mapping[str, Any], lengths: Sequence[Mapping[str, int]]) -> Sequence[Values | Missing]:
        """Return the values of each utterance of a batch, or why it has none.

        Args:
            inputs: the arguments of the function by name.
            lengths: the number of rows of each utterance by axis.

        Raises:
            Exception: what the function raises, or a `FeatureError` if it returns no value for each utterance.
        """
        outputs = self._outputs(self._call(**inputs), len(lengths))
        return [self._checked(values, of_axes) for values, of_axes in zip(outputs, lengths, strict=True)]

    def _outputs(self, result: Any, count: int) -> list[dict[str, Any]]:
        """Return what the function returned for each utterance, by output."""
        names = self.description.names
        if not isinstance(result, Mapping):
            if len(names) != 1:
                raise FeatureError(f"expected a dict of {', '.join(names)}, found {type(result).__name__}")
            result = {names[0]: result}
        if {*result} != {*names}:
            raise FeatureError(f"expected a dict of {', '.join(names)}, found {', '.join(map(str, result)) or 'none'}")
        for name, values in result.items():
            found = len(values) if hasattr(values, "__len__") and np.ndim(values) != 0 else None
            if found != count:
                raise FeatureError(
                    f"'{name}': expected {count} values, one for each utterance, found "
                    f"{type(values).__name__ if found is None else found}"
                )
        return [{name: values[row] for name, values in result.items()} for row in range(count)]

    def _checked(self, values: Mapping[str, Any], lengths: Mapping[str, int]) -> Values | Missing:
        try:
            if any(value is None for value in values.values()):
                return Missing("the function returned None for it")
            arrays = {spec.name: _array(spec, values[spec.name], lengths) for spec in self.description.arrays}
            return {**arrays, **{name: _column(name, kind, values[name]) for name, kind in self._columns}}
        except (UtteranceError, TypeError, ValueError) as error:
            return Missing(reason_of(error))

    @property
    def _columns(self) -> list[tuple[str, type]]:
        return list(self.description.columns.items())


def reason_of(error: BaseException) -> str:
    """Return an error as the reason why an utterance has no value."""
    text = str(error) if isinstance(error, UtteranceError) else f"{type(error).__name__}: {error}"
    return one_line(" ".join(text.split()), _REASON)


def _array(spec: ArraySpec, value: Any, lengths: Mapping[str, int]) -> Array:
    return checked_values(spec, np.asarray(value), lengths.get(spec.axis)).reshape(
        spec.row_shape if spec.axis == "utterance" else (-1, *spec.row_shape)
    )


def _column(name: str, kind: type, value: Any) -> float | str:
    if kind is str:
        if not isinstance(value, str):
            raise FeatureError(f"'{name}': expected a text, found {type(value).__name__}")
        if "\0" in value:
            raise FeatureError(f"'{name}': a text cannot have a zero character")
        value.encode("utf-8")
        return value
    number = float(value)
    if not math.isfinite(number):
        raise FeatureError(f"'{name}': expected a finite number, found {number}")
    return number


def _loaded(model: ModelFunction, device: str) -> Callable[..., Any]:
    if not isinstance(model.function, type):
        return model.function
    names = inspect.signature(model.function).parameters
    given = {**model.settings, **({DEVICE: device} if DEVICE in names else {})}
    try:
        made = model.function(**given)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{model.where} cannot be loaded: {reason_of(error)}") from error
    if not callable(made):
        raise ConfigurationError(f"{model.where}: expected a class with the method __call__")
    return made  # type: ignore[no-any-return]


def _description(model: ModelFunction, call: Callable[..., Any], known: Collection[str]) -> Description:
    columns = dict(getattr(call, "columns", {}))
    arrays = tuple(getattr(call, "arrays", () if columns else model.arrays))
    if not all(isinstance(spec, ArraySpec) for spec in arrays) or not (arrays or columns):
        raise ConfigurationError(f"{model.where}: expected 'arrays', a tuple of ArraySpec, or 'columns'")
    if not all(kind in (float, str) for kind in columns.values()):
        raise ConfigurationError(f"{model.where}: columns: expected float or str for each name, found {columns}")
    found = Description(
        arrays,
        columns,
        _inputs(model, call, known),
        _first(model.sample_rate, getattr(call, SAMPLE_RATE, None)),
        _first(model.batch_seconds, getattr(call, "batch_seconds", None), BATCH_SECONDS),
    )
    if not found.batch_seconds > 0 or not (found.sample_rate is None or found.sample_rate > 0):
        raise ConfigurationError(f"{model.where}: batch_seconds and sample_rate: expected numbers greater than 0")
    settings = {
        "model": {
            "batch_seconds": found.batch_seconds,
            "function": model.where,
            "sample_rate": found.sample_rate,
            "settings": dict(model.settings),
            "weights": str(getattr(call, "weights", "")),
        }
    }
    software = _software(model, call)
    recorded = tuple(
        replace(spec, settings={**spec.settings, **settings}, software={**software, **spec.software}) for spec in arrays
    )
    return replace(found, arrays=recorded, settings=settings, software=software)


def _first(*values: Any) -> Any:
    """Return the first value that is given; 0 is given, too."""
    return next((value for value in values if value is not None), None)


def _inputs(model: ModelFunction, call: Callable[..., Any], known: Collection[str]) -> tuple[str, ...]:
    """Return the names of the arguments of a function, without unknown ones that have a default."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{model.where}: its arguments are unknown ({error})") from error
    named = (one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    return tuple(one.name for one in named if one.name in known or one.default is one.empty)


def _software(model: ModelFunction, call: Callable[..., Any]) -> dict[str, str]:
    """Return the versions of the packages of a function; for a module of no package, the SHA-256 of its source."""
    module = model.function.__module__
    found: dict[str, str] = {}
    packages = packages_distributions().get(module.partition(".")[0], [])
    if packages:
        found[packages[0]] = version(packages[0])
    elif source := getattr(sys.modules.get(module), "__file__", None):
        found[Path(source).stem] = f"sha256:{file_sha256(Path(source))[:16]}"
    try:
        return {**found, **{name: version(name) for name in getattr(call, "software", ())}}
    except PackageNotFoundError as error:
        raise ConfigurationError(f"{model.where}: software: {error.name!r} is not installed") from error
