"""A function over batches of utterances: what it asks for, its settings, what it returns, and how that is checked."""

from __future__ import annotations

import inspect
import math
import operator
import re
import reprlib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, Final, TypeAlias, get_type_hints

import numpy as np

from tts_prep.errors import ConfigurationError, FeatureError, UtteranceError, described, one_line
from tts_prep.format.contents.array_file import checked_values
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import OWN, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.reading import MAX_RATE, MIN_RATE
from tts_prep.preprocess.features.kinds import outputs_name


def lengths_name(spec: ArraySpec) -> str:
    """Return the name of an array's lengths in a dict of outputs; empty for one row of each utterance."""
    return "" if spec.axis == UTTERANCE else f"{spec.name}_lengths"


def values_and_lengths(spec: ArraySpec, output: Any, beside: Any) -> tuple[Any, Any]:
    """Return the values of a batch and the lengths beside them, None without any.

    Args:
        output: the values, or a tuple of one array of a batch and the lengths of its rows.
        beside: the lengths in the dict of outputs, or None.
    """
    is_pair = isinstance(output, tuple) and len(output) == 2 and spec.axis != UTTERANCE
    # An array with an axis more than that of an utterance cannot be one of two utterances.
    if beside is None and is_pair and getattr(output[0], "ndim", 0) == len(spec.row_shape) + 2:
        return output[0], output[1]
    return output, beside


def without_padding(name: str, values: Sequence[Any], lengths: Any) -> list[Any]:
    """Return the rows of each utterance without those of padding.

    Raises:
        FeatureError: there is not one whole number of rows for each utterance.
    """
    if not hasattr(lengths, "__len__") or len(lengths) != len(values):
        found = len(lengths) if hasattr(lengths, "__len__") else type(lengths).__name__
        raise FeatureError(f"'{name}': expected {len(values)} lengths, one for each utterance, found {found}")
    rows = []
    for value, length in zip(values, lengths, strict=True):
        try:
            n_rows = operator.index(length)
        except TypeError:
            raise FeatureError(f"'{name}': lengths: expected whole numbers of rows, found {length}") from None
        if not 0 <= n_rows <= len(value):
            raise FeatureError(f"'{name}': lengths: expected 0 to {len(value):,} rows, as there are, found {n_rows:,}")
        rows.append(value[:n_rows])
    return rows


def fault_of_padding(spec: ArraySpec, values: Any, lengths: Sequence[Mapping[str, int]]) -> str:
    """Return why the rows of utterances in one array without lengths are unknown; empty if they are not.

    Args:
        lengths: the number of rows of each utterance by axis.
    """
    is_one_array = spec.axis == OWN and getattr(values, "ndim", 1) > 1
    if not is_one_array or all(of_utterance == lengths[0] for of_utterance in lengths):
        return ""
    return (
        f"array '{spec.name}': found one array {list(values.shape)} for {len(lengths)} utterances of different "
        f"lengths, so that it may be padded; return its lengths, too, as (values, lengths) or as "
        f"'{lengths_name(spec)}', or a list of one array for each utterance"
    )


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
        """``MODULE:NAME`` of the function; of a script's, the name by which the command line imports it."""
        module = self.function.__module__
        if module in ("__main__", "__mp_main__") and (file := getattr(sys.modules.get(module), "__file__", None)):
            module = Path(file).stem
        return f"{module}:{getattr(self.function, '__qualname__', type(self.function).__name__)}"


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

    @property
    def interface(self) -> object:
        """What must be the same in all processes that call a function."""
        arrays = [(spec.name, spec.dtype, spec.row_shape, spec.axis) for spec in self.arrays]
        return arrays, self.columns, self.inputs, self.sample_rate


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

    def __call__(
        self,
        inputs: Mapping[str, Any],
        lengths: Sequence[Mapping[str, int]],
        seconds: Sequence[float | None] | None = None,
    ) -> Sequence[Values | Missing]:
        """Return the values of each utterance of a batch, or why it has none.

        Args:
            inputs: the arguments of the function by name.
            lengths: the number of rows of each utterance by axis.
            seconds: the duration of each utterance, which arrays with a rate must have; None if unknown.

        Raises:
            Exception: what the function raises, or a `FeatureError` if it returns no value for each utterance.
        """
        outputs, beside = self._outputs(self._call(**inputs))
        for spec in self.description.arrays:
            values, n_rows = values_and_lengths(spec, outputs[spec.name], beside.get(lengths_name(spec)))
            outputs[spec.name] = _of_utterances(spec.name, values, len(lengths))
            if n_rows is not None:
                outputs[spec.name] = without_padding(spec.name, outputs[spec.name], n_rows)
            elif fault := fault_of_padding(spec, values, lengths):
                return [Missing(fault)] * len(lengths)
        for name in self.description.columns:
            outputs[name] = _of_utterances(name, outputs[name], len(lengths))
        of_utterances = [{name: values[row] for name, values in outputs.items()} for row in range(len(lengths))]
        return list(map(self._checked, of_utterances, lengths, seconds or [None] * len(lengths)))

    def _outputs(self, result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the function returned by output, and the lengths beside it by their names."""
        names = self.description.names
        if not isinstance(result, Mapping):
            if len(names) != 1:
                raise FeatureError(f"expected a dict of {', '.join(names)}, found {type(result).__name__}")
            result = {names[0]: result}
        known = {*map(lengths_name, self.description.arrays)} - {*names}
        beside = {name: lengths for name, lengths in result.items() if name in known}
        if {*result} - {*beside} != {*names}:
            raise FeatureError(f"expected a dict of {', '.join(names)}, found {', '.join(map(str, result)) or 'none'}")
        return {name: result[name] for name in names}, beside

    def _checked(
        self, values: Mapping[str, Any], lengths: Mapping[str, int], seconds: float | None
    ) -> Values | Missing:
        try:
            if any(value is None for value in values.values()):
                return Missing("the function returned None for it")
            arrays = {spec.name: _array(spec, values[spec.name], lengths, seconds) for spec in self.description.arrays}
            columns = self.description.columns.items()
            return {**arrays, **{name: _column(name, kind, values[name]) for name, kind in columns}}
        except MemoryError:
            raise
        except Exception as error:  # objects of other libraries have their own ways of becoming arrays
            return Missing(reason_of(error))


def reason_of(error: BaseException) -> str:
    """Return an error as the reason why an utterance has no value."""
    text = str(error) if isinstance(error, UtteranceError) else described(error)
    return one_line(" ".join(text.split()), _REASON)


def _of_utterances(name: str, values: Any, count: int) -> list[Any]:
    """Return an output as a list of one value for each utterance, whose lengths and types may differ."""
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes, bytearray, Mapping, Set))
    found = len(values) if is_list and getattr(values, "ndim", 1) != 0 else type(values).__name__
    if found != count:
        raise FeatureError(f"'{name}': expected {count} values, one for each utterance, found {found}")
    return list(values)


def _array(spec: ArraySpec, value: Any, lengths: Mapping[str, int], seconds: float | None) -> Array:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise FeatureError(f"array '{spec.name}': {int(np.sum(value.mask)):,} values are masked")
    return checked_values(spec, np.asarray(value), lengths.get(spec.axis), seconds).reshape(
        spec.row_shape if spec.axis == "utterance" else (-1, *spec.row_shape)
    )


def _column(name: str, kind: type, value: Any) -> float | str:
    if kind is str:
        if not isinstance(value, str):
            raise FeatureError(f"'{name}': expected a text, found {type(value).__name__}")
        if "\0" in value:
            raise FeatureError(f"'{name}': a text cannot have a zero character")
        value.encode("utf-8")
        return str.__str__(value)  # of a class of its own, too, which other processes may not have
    if isinstance(value, (str, bytes)):
        raise FeatureError(f"'{name}': expected a number, found {type(value).__name__}")
    number = float(value)
    if isinstance(value, (int, np.integer)) and int(number) != int(value):
        raise FeatureError(f"'{name}': {value} is not a number of 64 bits exactly; return it as a text")
    return number


def _loaded(model: ModelFunction, device: str) -> Callable[..., Any]:
    if not isinstance(model.function, type):
        return model.function
    names = inspect.signature(model.function).parameters
    given = {**model.settings, **({DEVICE: device} if DEVICE in names else {})}
    try:
        made = model.function(**given)
    except BaseException as error:  # whatever it raises, it ends in one line, sys.exit too
        raise ConfigurationError(f"{model.where} cannot be loaded: {reason_of(error)}") from error
    if not callable(made):
        raise ConfigurationError(f"{model.where}: expected a class with the method __call__")
    return made  # type: ignore[no-any-return]


def _description(model: ModelFunction, call: Callable[..., Any], known: Collection[str]) -> Description:
    columns = _declared_columns(model, call)
    arrays = _declared_arrays(model, call, columns)
    sample_rate, batch_seconds = _sample_rate(model, call), _batch_seconds(model, call)
    settings = {
        "model": {
            "batch_seconds": batch_seconds,
            "function": model.where,
            "sample_rate": sample_rate,
            "settings": dict(model.settings),
            "weights": str(getattr(call, "weights", "")),
            **({"license": str(licence)} if (licence := getattr(call, "license", "")) else {}),
        }
    }
    software = _software(model, call)
    return Description(
        tuple(
            replace(spec, settings={**spec.settings, **settings}, software={**software, **spec.software})
            for spec in arrays
        ),
        columns,
        _inputs(model, call, known),
        sample_rate,
        batch_seconds,
        settings,
        software,
    )


def _declared_arrays(
    model: ModelFunction, call: Callable[..., Any], columns: Mapping[str, type]
) -> Sequence[ArraySpec]:
    arrays = getattr(call, "arrays", () if columns else model.arrays)
    if not isinstance(arrays, (tuple, list)) or not all(isinstance(spec, ArraySpec) for spec in arrays):
        raise _fault(model, "arrays", "a tuple of ArraySpec", arrays)
    if not arrays and not columns:
        raise ConfigurationError(f"{model.where}: expected 'arrays', a tuple of ArraySpec, or 'columns', found neither")
    try:
        return [spec.checked() for spec in arrays]
    except ConfigurationError as error:
        raise ConfigurationError(f"{model.where}: {error}") from None


def _declared_columns(model: ModelFunction, call: Callable[..., Any]) -> dict[str, type]:
    columns = getattr(call, "columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
        raise _fault(model, "columns", "a dict of names and float or str", columns)
    for name, kind in columns.items():
        if kind is not float and kind is not str:
            raise _fault(model, f"columns: {name}", "float or str", kind)
    return dict(columns)


def _sample_rate(model: ModelFunction, call: Callable[..., Any]) -> int | None:
    rate = _first(model.sample_rate, getattr(call, SAMPLE_RATE, None))
    is_number = isinstance(rate, (int, np.integer)) and not isinstance(rate, bool)
    if rate is not None and not (is_number and MIN_RATE <= rate <= MAX_RATE):
        raise _fault(model, SAMPLE_RATE, f"a whole number of Hz from {MIN_RATE:,} to {MAX_RATE:,}", rate)
    return None if rate is None else int(rate)


def _batch_seconds(model: ModelFunction, call: Callable[..., Any]) -> float:
    seconds = _first(model.batch_seconds, getattr(call, "batch_seconds", None), BATCH_SECONDS)
    number = seconds.item() if isinstance(seconds, np.number) else seconds
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < math.inf:
        raise _fault(model, "batch_seconds", "a finite number of seconds greater than 0", seconds)
    return number


def _fault(model: ModelFunction, what: str, expected: str, found: object) -> ConfigurationError:
    return ConfigurationError(one_line(f"{model.where}: {what}: expected {expected}, found {reprlib.repr(found)}"))


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


def package_of(module: str) -> Distribution | None:
    """Return the installed package of a module of the top level.

    `importlib.metadata.packages_distributions` parses all files of all packages, which takes a process half a second.
    """
    for package in distributions():
        names = (package.read_text("top_level.txt") or "").split()
        files = "" if names else "\n" + (package.read_text("RECORD") or "")
        if module in names or f"\n{module}/" in files or f"\n{module}." in files:
            return package
    return None


def _software(model: ModelFunction, call: Callable[..., Any]) -> dict[str, str]:
    """Return the versions of the packages of a function; for a module of no package, the SHA-256 of its source."""
    module = model.function.__module__
    found: dict[str, str] = {}
    if package := package_of(module.partition(".")[0]):
        found[package.metadata["Name"]] = package.version
    elif source := getattr(sys.modules.get(module), "__file__", None):
        found[Path(source).stem] = f"sha256:{file_sha256(Path(source))[:16]}"
    names = getattr(call, "software", ())
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) and name for name in names):
        raise _fault(model, "software", "a tuple of names of packages", names)
    try:
        return {**found, **{name: version(name) for name in names}}
    except PackageNotFoundError as error:
        raise ConfigurationError(f"{model.where}: software: {error.name!r} is not installed") from error


_KINDS: Final = (bool, int, float, str)
_TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def explained(model: type) -> list[tuple[str, str, str]]:
    """Return name, default and help of each setting."""
    text = "\n".join(inspect.getdoc(what) or "" for what in (model, vars(model).get("__init__")) if what)
    helps = {name: " ".join(line.split()) for name, line in re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", text, re.M)}
    return [
        (name, "" if one.default in (one.empty, "", None) else str(one.default), helps.get(name, ""))
        for name, one in _settings(model).items()
    ]


def configured_model(where: str, model: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a class for texts by name, as their types are.

    Raises:
        ConfigurationError: a setting does not exist, is missing, or has an invalid value.
    """
    known, hints = _settings(model), get_type_hints(inspect.getattr_static(model, "__init__"))
    for name in texts:
        if name not in known:
            raise ConfigurationError(f"{where}: expected the settings {', '.join(known) or 'none'}, found {name!r}")
    for name, one in known.items():
        if one.default is one.empty and name not in texts:
            raise ConfigurationError(f"{where}: needs the setting {name!r}, as in {where}:{name}=VALUE")
    return {name: _value(f"{where}: {name}", _kind(hints.get(name), known[name]), texts[name]) for name in texts}


def _settings(model: type) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(model).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {one.name: one for one in parameters if one.kind in kinds and one.name != DEVICE}


def _kind(hint: Any, parameter: inspect.Parameter) -> type:
    """Return the type of a setting: that of its annotation, ``int | None`` too, or that of its default."""
    found = next((kind for kind in _KINDS if hint is kind or kind in getattr(hint, "__args__", ())), None)
    if found is not None:
        return found
    return type(parameter.default) if type(parameter.default) in _KINDS else str


def _value(where: str, kind: type, text: str) -> Any:
    try:
        return _TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = "true or false" if kind is bool else "an integer" if kind is int else "a number"
        raise ConfigurationError(f"{where}: expected {expected}, found {text!r}") from None


def function_of(name: str, model: type, texts: Mapping[str, str]) -> ModelFunction:
    """Return a class that ``--feature`` names, with its settings, as a function to call.

    Raises:
        ConfigurationError: see `configured_model`.
    """
    of_outputs = outputs_name(model) if ":" in name else name.replace("-", "_")
    return ModelFunction(of_outputs, model, configured_model(name, model, texts))
