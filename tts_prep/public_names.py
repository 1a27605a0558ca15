"""Public names of a package, which it writes once: as imports for type checkers, loaded on first use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def public_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, for its ``__init__.py``.

    Its public names are those that it imports under ``if TYPE_CHECKING:``, as ``from MODULE import NAME as NAME``,
    which type checkers take for public too. At run time, a module is imported when the first of its names is used.
    Names of a room that is not installed are left out.
    """
    module = sys.modules[package]
    modules = {
        name: place for name, place in _imports(_source(package)).items() if find_spec(".".join(place.split(".")[:2]))
    }

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(module, name, value)
        return value

    return sorted(modules), find, lambda: sorted({*vars(module), *modules})


def _source(package: str) -> str:
    """Return the source code of a package that is being imported, also from a zip file."""
    spec = sys.modules[package].__spec__
    source = getattr(spec and spec.loader, "get_source", lambda _: None)(package)
    if source is None:
        raise ImportError(f"{package}: its public names are read from its source code, which is not installed")
    return str(source)


def _imports(source: str) -> dict[str, str]:
    """Return the module of each name that is imported under ``if TYPE_CHECKING:``."""
    return {
        name.name: statement.module or ""
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
        if name.asname == name.name
    }
