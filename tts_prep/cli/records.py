"""Options of a command as the fields of a record: declared once, for click, the help and the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from functools import wraps
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from tts_prep.cli.options import click_option
from tts_prep.preprocess.option import KINDS, Option

_OPTION: Final = "option"
R = TypeVar("R")


def option(text: str, *, default: Any = None, **settings: Any) -> Any:
    """Return the field of an option.

    Its name is that of the field. Its kind follows from the type: one of `KINDS`, also ``| None``, and
    ``tuple[KIND, ...]`` for an option that may be repeated, whose default is ().

    Args:
        text: the help.
        settings: the other attributes of `Option`.
    """
    return field(default=default, metadata={_OPTION: {"help": text, **settings}})


def options_of(record: type) -> list[Option]:
    """Return the options that the fields of a record are."""
    hints = get_type_hints(record)
    return [_option(one.name, hints[one.name], one.default, one.metadata[_OPTION]) for one in fields(record)]


def _option(name: str, hint: Any, default: Any, settings: dict[str, Any]) -> Option:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind not in (NoneType, Ellipsis)]
    if len(kinds) != 1 or kinds[0] not in KINDS:
        raise TypeError(f"{name}: {hint} is not the type of an option")
    repeated = get_origin(hint) is tuple
    return Option(name, kind=kinds[0], repeated=repeated, default=None if repeated else default, **settings)


def takes(record: type[R]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of a record to a command; its function gets the record as its last argument."""
    options = options_of(record)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*arguments: Any, **values: Any) -> Any:
            of_record = {one.name: values.pop(one.name) for one in options}
            return function(*arguments, record(**of_record), **values)

        # Click shows them in the order of this list, backwards.
        command.__click_params__ = [  # type: ignore[attr-defined]
            *getattr(function, "__click_params__", []),
            *(click_option(one) for one in reversed(options)),
        ]
        return command

    return decorate
