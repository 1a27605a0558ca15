"""Importing libraries without the slow parts of theirs that are not used here.

What these cost is paid at the start of every run, or in each of its processes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def import_later(*names: str) -> Iterator[None]:
    """Keep imports of modules within this block from loading them; whoever looks something up in one later does.

    For modules that a library imports as a whole, as in ``import scipy.signal``, and needs in some functions only.
    Their package has to load modules when they are looked up, as scipy does.
    """
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update((name, ModuleType(name)) for name in absent)
    try:
        yield
    finally:
        for name in absent:
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
