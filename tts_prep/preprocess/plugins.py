"""Components that other packages register by entry points: corpora, frontends and features."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tts_prep.errors import ConfigurationError, described, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CORPORA: Final = "tts_prep.corpora"
FRONTENDS: Final = "tts_prep.frontends"
FEATURES: Final = "tts_prep.features"
"""The groups of entry points."""


def registered(group: str, built_in: Container[str] = ()) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; built-in names cannot be overridden."""
    # Imported here, because a run with built-in components alone does without.
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return {point.name: point for point in points if point.name not in built_in}


def load(point: EntryPoint, what: str, is_valid: Callable[[Any], bool] = callable, expected: str = "a function") -> Any:
    """Import a component.

    Args:
        point: an entry point, from `registered`.
        what: the kind of the component, the first words of error messages.
        is_valid: whether an object can be such a component.
        expected: what such an object is, for error messages.

    Raises:
        ConfigurationError: two packages register the name, its package cannot be imported, or the object is invalid.
    """
    from importlib.metadata import entry_points

    same = sorted({other.value for other in entry_points(group=point.group) if other.name == point.name})
    if len(same) > 1:
        raise ConfigurationError(
            f"{what} {point.name!r} is registered more than once, as {' and '.join(same)}; uninstall all but one"
        )
    try:
        found = point.load()
    except Exception as error:
        raise ConfigurationError(f"{what} {point.name!r} of {point.value} cannot be loaded ({error})") from error
    if not is_valid(found):
        raise ConfigurationError(
            f"{what} {point.name!r} of {point.value}: expected {expected}, found an object of type "
            f"{type(found).__name__}"
        )
    return found


def import_named(path: str, what: str) -> Any:
    """Return the object that a user names as ``MODULE:NAME``; the working folder is searched too.

    Args:
        what: the option, the first word of error messages.

    Raises:
        ConfigurationError: there is none.
    """
    module, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        # The last one, so that no file of the working folder replaces a module of Python or of a library.
        sys.path.append(folder)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"{what}: {path!r} cannot be loaded ({error})") from error
    except (Exception, SystemExit) as error:  # what the module does while it is imported
        raise ConfigurationError(one_line(f"{what}: {path!r} cannot be loaded ({described(error)})")) from error
