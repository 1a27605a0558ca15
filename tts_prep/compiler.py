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


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to machine code on its first call, or load it from the compiler's cache."""
    from numba import njit

    try:
        compiled: Callable[..., Any] = njit(cache=True, nogil=True, boundscheck=False)(function)
    except RuntimeError:
        # No cache folder is writable, so each process compiles for itself.
        compiled = njit(nogil=True, boundscheck=False)(function)
    return compiled


class Compiled:
    """A function that is compiled on its first call, if numba can be imported; a decorator.

    Importing its module does not import numba, which takes half a second. A compiled function cannot call it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python = function
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; it releases the global interpreter lock."""
        if self._compiled is None:
            with _LOCK:
                try:
                    self._compiled = self._compiled or jit(self.python)
                except ImportError:
                    self._compiled = self.python
        return self._compiled(*arguments)
