"""Ending in order when a signal asks for it.

A handler raises `KeyboardInterrupt` wherever the program happens to be. Python drops one that comes up inside a
destructor or a callback from C code. It is then raised once more; loops that run for long call `check` too.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

received = 0
"""The number of the signal that asked this process to end; 0 for none."""

_AGAIN = 0.01
"""Seconds after which a dropped exception is raised once more."""


def check() -> None:
    """Raise `KeyboardInterrupt` where this process was asked to end."""
    if received:
        raise KeyboardInterrupt


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C: processes and temporary files are cleared away.

    The second signal of a kind ends this process at once, and its workers follow.
    """
    global received
    received = 0
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    }
    hook = sys.unraisablehook
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None) or number == signal.SIGALRM:
            signal.signal(number, _interrupt)

    def raise_again(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook(unraisable)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    global received
    if number != signal.SIGALRM:
        signal.signal(number, signal.SIG_DFL)
        received = number
    raise KeyboardInterrupt
