"""Import a library without what slows its import down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
