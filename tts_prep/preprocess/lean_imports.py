"""Importing libraries without the slow parts of theirs that are not used here.

What these cost is paid at the start of every run, or in each of its processes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def import_later(name: str) -> Iterator[None]:
    """Keep an ``import`` of a module within this block from loading it; whoever looks something up in it later does.

    For a module that a library imports as a whole, as in ``import scipy.signal``, and needs in some functions only. Its
    package has to load modules when they are looked up, as scipy does.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def unchecked_types() -> Iterator[None]:
    """Keep typeguard from compiling the functions of a library that is imported within this block once more.

    It does so for checks of their arguments' types.
    """
    try:
        import typeguard
    except ImportError:  # the library does without by now
        yield
        return
    checked = typeguard.typechecked
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        yield
    finally:
        typeguard.typechecked = checked
