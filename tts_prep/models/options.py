"""The settings of a class that is a model: the arguments of its ``__init__``, explained by its docstring."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, Final, get_type_hints

from tts_prep.errors import ConfigurationError
from tts_prep.models.function import DEVICE, ModelFunction
from tts_prep.preprocess.features.kinds import outputs_name

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
