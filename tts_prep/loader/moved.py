"""Old import paths, which work for one more release with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved(old: str, new: str, renamed: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose contents have moved.

    Args:
        old: the name of the module.
        new: the module that has its contents now. It is imported on first use, so that an old path may lead to a
            package above this one.
        renamed: new names by old ones.
    """
    names = renamed or {}

    def find(name: str) -> Any:
        module, target = import_module(new), names.get(name, name)
        if name.startswith("_") or target not in getattr(module, "__all__", dir(module)):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        public = ".".join(new.split(".")[:2])
        place = public if target in getattr(import_module(public), "__all__", ()) else new
        warnings.warn(
            f"{old}.{name} will be removed in the next release; import {target} from {place}",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(module, target)

    return find
