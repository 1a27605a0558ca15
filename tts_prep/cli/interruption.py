"""Orderly termination by signals.

A signal handler raises `KeyboardInterrupt`. Python drops an exception raised in a destructor or in a callback from C
code, so it is raised again after a moment. Long-running loops also call `check`. An import is completed first, because
extension modules print a traceback if their import is interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

received = 0
"""The number of the received signal; 0 if none."""

# Windows lacks some.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)]
_ALARM = getattr(signal, "SIGALRM", None)
_AGAIN = 0.01
"""Seconds after which a dropped exception is raised again."""

_MAX_IMPORT = 1.0
"""Seconds after a signal for which an import may continue."""

_import_end = 0.0


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if received:
        raise KeyboardInterrupt


@contextmanager
def converted() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for any error after a signal was received.

    If the signal arrives in a callback from C code, such as that of h5py, the library can raise another exception.
    """
    try:
        yield
    except Exception as error:
        if received:
            raise KeyboardInterrupt from error
        raise


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that workers end and temporary files are removed.

    A second signal of the same kind ends this process immediately, and its workers follow.
    """
    global received
    received = 0
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    hook = sys.unraisablehook
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None) or number == _ALARM:
            signal.signal(number, _interrupt)

    def raise_again(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt) and _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook(unraisable)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        if _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global received, _import_end
    if number != _ALARM:
        signal.signal(number, signal.SIG_DFL)
        received = number
        _import_end = time.monotonic() + _MAX_IMPORT
    if _ALARM is not None and time.monotonic() < _import_end and _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
