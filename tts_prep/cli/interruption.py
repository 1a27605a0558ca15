"""Orderly termination by signals.

A signal handler raises `KeyboardInterrupt`. Python drops an exception raised in a destructor or in a callback from C
code, so it is raised again after a moment. Long-running loops also call `check`. An import is completed first, because
extension modules print a traceback if their import is interrupted. An error that occurs before the exception is raised
has another cause, and ends the command as usual.
"""

import itertools
import os
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
_is_dropped = False
"""Whether Python has dropped the exception, and it has not been raised again yet."""


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal was received."""
    if received:
        raise KeyboardInterrupt


def forget() -> None:
    """Forget a received signal: the end of a command that runs until it is interrupted."""
    global received
    received = 0


def leave_to_main_thread() -> None:
    """Block signals in the calling thread: one that it received would not interrupt a wait of the main thread."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


@contextmanager
def converted() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for an error that a signal caused; afterwards, do not raise it again.

    If a signal arrives in a callback from C code, such as that of h5py, the library can raise another exception.
    """
    try:
        yield
    except Exception as error:
        if received and (_is_dropped or KeyboardInterrupt in map(type, _chain(error))):
            raise KeyboardInterrupt from error
        raise
    finally:
        if _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)


def later_fault(interrupt: BaseException) -> OSError | None:
    """Return the error of the operating system that occurred after an interruption, such as a full disk, if any.

    Args:
        interrupt: the exception from `converted`.
    """
    later = itertools.takewhile(lambda error: not isinstance(error, KeyboardInterrupt), _chain(interrupt.__cause__))
    return next((error for error in later if isinstance(error, OSError) and error.errno), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, the exception that caused it or during whose handling it was raised, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that workers end and temporary files are removed.

    A second signal of the same kind ends this process immediately, and its workers follow.
    """
    global received, _is_dropped
    received, _is_dropped = 0, False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    hook = sys.unraisablehook
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None) or number == _ALARM:
            signal.signal(number, _interrupt)

    def raise_again(unraisable: Any) -> None:
        global _is_dropped
        if issubclass(unraisable.exc_type, KeyboardInterrupt) and _ALARM is not None:
            _is_dropped = True
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


def _end_forked_process_at_once() -> None:
    """Let SIGTERM and SIGHUP end a process that was forked in the course of a command, such as a worker of joblib.

    Python calls a handler after a call from C code, which can wait without end if the signal arrived just before it.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is _interrupt and number not in (signal.SIGINT, _ALARM):
            signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_forked_process_at_once)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global received, _import_end, _is_dropped
    if number != _ALARM:
        signal.signal(number, signal.SIG_DFL)
        received = number
        _import_end = time.monotonic() + _MAX_IMPORT
    if _ALARM is not None and time.monotonic() < _import_end and _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    else:
        _is_dropped = False
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
