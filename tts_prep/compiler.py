"""Compilation of loops over arrays to machine code by numba."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_LOCK = threading.Lock()


def is_available() -> bool:
    """Return whether numba is installed. Without it, compiled functions run as Python, hundreds of times slower."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


_ANY_ORDER = {"reassoc", "nnan", "nsz"}


def jit(function: Callable[..., Any], *, any_order: bool = False, keeps_gil: bool = False) -> Callable[..., Any]:
    """Compile a function to machine code on its first call, or load it from the compiler's cache.

    Args:
        any_order: whether the compiler may add numbers in any order, and assume that none is NaN. Only then does it
            vectorize sums and maxima. Sums can differ in their last bits from one processor to another.
        keeps_gil: whether the function keeps the global interpreter lock. For a function of a few microseconds,
            releasing it costs more than other threads gain.
    """
    from numba import njit

    options: dict[str, Any] = {
        "nogil": not keeps_gil,
        "boundscheck": False,
        "fastmath": _ANY_ORDER if any_order else False,
    }
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:
        # No cache folder is writable, so each process compiles for itself.
        compiled = njit(**options)(function)
    return compiled


class Compiled:
    """A function that is compiled on its first call, if numba can be imported; a decorator.

    Importing its module does not import numba, which takes half a second. A compiled function cannot call it.

    Args:
        options: those of `jit`.
    """

    def __init__(self, function: Callable[..., Any], **options: bool) -> None:
        self.python = function
        self._options = options
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        if self._compiled is None:
            with _LOCK:
                try:
                    self._compiled = self._compiled or jit(self.python, **self._options)
                except ImportError:
                    self._compiled = self.python
        return self._compiled(*arguments)
