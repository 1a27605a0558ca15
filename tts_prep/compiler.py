"""Compilation of loops over arrays to machine code by numba."""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
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

    listen()
    options: dict[str, Any] = {
        "nogil": not keeps_gil,
        "boundscheck": False,
        "fastmath": _ANY_ORDER if any_order else False,
    }
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:
        # No cache folder is writable, so each process compiles for itself.
        return njit(**options)(function)  # type: ignore[no-any-return]
    # Nothing has been read from it yet.
    place = Path(compiled.stats.cache_path)  # type: ignore[attr-defined]
    # Python itself runs the files of __pycache__ beside the source.
    if place == Path(function.__code__.co_filename).parent / "__pycache__" or is_private(place):
        return compiled
    return njit(**options)(function)  # type: ignore[no-any-return]


def is_private(folder: Path) -> bool:
    """Return whether only this user and root can change the files of a folder.

    The compiler's cache consists of pickles: who can write there, or rename a folder above it, can run code here.
    """
    if not hasattr(os, "getuid"):
        return True
    trusted = (0, os.getuid())
    folder = Path(os.path.realpath(folder))
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            return True
        status = place.stat()
        if status.st_uid not in trusted:
            return False
        if not status.st_mode & 0o077:
            return True  # Others reach nothing below it.
        # A group with the number of its user has no other members.
        others = stat.S_IWOTH if status.st_gid in (0, status.st_uid) else stat.S_IWOTH | stat.S_IWGRP
        # In a sticky folder, others can add files, and rename their own.
        if status.st_mode & others and (place == folder or not status.st_mode & stat.S_ISVTX):
            return False
    return all(path.lstat().st_uid in trusted for path in folder.iterdir())


def import_librosa() -> ModuleType:
    """Import librosa, in one process at a time.

    It compiles functions when it is imported.
    """
    import librosa

    listen()
    with one_process_at_a_time():
        # librosa imports its modules on their first use.
        librosa.util.localmax  # noqa: B018
        librosa.pyin  # noqa: B018
    return librosa


_report: Callable[[str], object] | None = None
_is_listening = False


def report_compilation(report: Callable[[str], object]) -> None:
    """Call ``report`` from now on with the name of what this process compiles, and with an empty one after it."""
    global _report
    _report = report


def listen() -> None:
    """Have numba say what it compiles, if someone wants to know it."""
    global _is_listening
    if _is_listening or _report is None:
        return
    from numba.core import event

    names: list[str] = []

    class Compilations(event.Listener):
        # The compilation of a function can start that of another.
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            names.append(f"{function.__module__}.{function.__qualname__}")
            self._say()

        def on_end(self, event: Any) -> None:  # noqa: ARG002 - the signature is the compiler's
            names.pop()
            self._say()

        def _say(self) -> None:
            if _report is not None:
                _report(names[-1] if names else "")

    event.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]
    _is_listening = True


_LOCKS = Path("/tmp")
"""The folder of locks; not that for temporary files, which is another one in each run."""


@contextlib.contextmanager
def one_process_at_a_time() -> Iterator[None]:
    """Hold a lock of this user on this machine; nothing is locked where the file of the lock is another user's.

    Two processes that add different code of one function to the compiler's cache at once can both choose the same name
    for it. Later processes then run the code of one with the arguments of the other: they end by a segmentation fault,
    raise an error or compute other values.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = _LOCKS / f"tts-prep-compiler-{os.getuid()}.lock"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            if os.fstat(descriptor).st_uid == os.getuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


class Compiled:
    """A function that is compiled on its first call, if numba can be imported; a decorator.

    Importing its module does not import numba, which takes half a second. A compiled function cannot call it. Assign
    arrays to slices by a loop: otherwise the error about their shapes is compiled as well, which takes three seconds.

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
