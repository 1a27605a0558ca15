"""Read files in a separate process, which a malicious or broken file can crash or block without harm to this one.

The processes exchange JSON, and bytes that are not interpreted; nothing is unpickled. The separate process imports
nothing from the working folder, which may be a store that comes from anywhere.
"""

import atexit
import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CannotReadError, StoreError, TtsPrepError

_CPU_SECONDS: Final = 4
"""Processor time limit per file; files of a store take milliseconds."""

_WALL_SECONDS: Final = 120
_MEMORY: Final = 1 << 30
_MAX_ANSWER: Final = 1 << 28
_START: Final = (
    "import sys; sys.path[:] = {paths!r}; from tts_prep.format.files.child_process import serve; serve({name!r})"
)
# What a file can cause. Other signals, such as SIGKILL, come from outside: from a user, or for want of memory.
_CRASHES: Final = tuple(
    getattr(signal, f"SIG{name}", 0) for name in ("SEGV", "BUS", "ABRT", "ILL", "FPE", "TRAP", "SYS", "XCPU")
)


class CrashedError(Exception):
    """The other process crashed, or took too long, at the same file twice."""


class RefusedError(Exception):
    """The function in the other process raised a `TtsPrepError`; the message is its message."""


class _DiedError(Exception):
    """The other process ended, or was ended because it gave no answer (a status of None)."""

    def __init__(self, status: int | None, started: bool = True) -> None:
        how = "gave no answer" if status is None else f"ended with status {status}"
        how = f"was killed by signal {-status}" if status is not None and status < 0 else how
        self.status = status
        super().__init__(how if started else f"{how} when it was started")
        self.is_crash = started and status is not None and (status >= 0 or -status in _CRASHES)


class ChildProcess:
    """A separate process, started on first use and again after a crash.

    Args:
        function: ``"module:function"``, called in the process with a path and the values of a request. It returns a
            JSON value, or a JSON value and bytes.
    """

    def __init__(self, function: str) -> None:
        if not hasattr(signal, "SIGKILL"):
            raise StoreError("HDF5 files are parsed on Linux and macOS only; a store is opened without")
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        # Why the process cannot import the function; empty if it can.
        self._missing = ""

    def ask(self, path: Path, *values: Any, cpu_seconds: int | None = None, memory: int = _MEMORY) -> tuple[Any, bytes]:
        """Return the answer of the function: a JSON value, and bytes, which are empty if it returned none.

        If the process dies at a file, it is asked once more, but not if it was ended because it gave no answer.

        Args:
            cpu_seconds, memory: the processor time, and the bytes of memory, that the answer may take.

        Raises:
            RefusedError: the function raised an error.
            CrashedError: the process crashed, or exceeded the limit of its processor time.
            CannotReadError: the process cannot be started, was killed from outside, or gives no answer.
        """
        line = json.dumps([os.fspath(path), cpu_seconds or _CPU_SECONDS, memory, *values]).encode() + b"\n"
        try:
            try:
                value, data = self._answer(line)
            except _DiedError as error:
                if error.status is None:  # two minutes are enough
                    raise
                value, data = self._answer(line)
        except _DiedError as error:
            if error.is_crash:
                raise CrashedError from None
            raise CannotReadError(
                f"{path}: the process that reads it {error}; is there enough memory, or does something end processes "
                "here? The file may be intact"
            ) from None
        except OSError as error:
            reason = error.strerror or error
            raise CannotReadError(f"{path}: no process that reads it can be started here ({reason})") from error
        if self._missing:
            raise CannotReadError(f"{path}: cannot be read here ({self._missing})")
        if "here" in value:
            raise CannotReadError(value["here"])
        if "fault" in value:
            raise RefusedError(value["fault"])
        return value["answer"], data

    def _answer(self, line: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer to a line.

        Raises:
            _DiedError: the process ended without one, or there is none within two minutes.
            CrashedError: the answer is too long.
        """
        deadline = time.monotonic() + _WALL_SECONDS
        if self._process is None:
            self._process = self._start()
            try:
                self._missing = json.loads(self._read(None, deadline))
            except _DiedError as error:
                raise _DiedError(error.status, started=False) from None
        if self._missing:
            return {}, b""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
        value = json.loads(self._read(None, deadline))
        return value, self._read(value["bytes"], deadline) if value["bytes"] else b""

    def _read(self, size: int | None, deadline: float) -> bytes:
        """Return ``size`` bytes, or a line."""
        assert self._process
        assert self._process.stdout
        out = self._process.stdout.fileno()
        while not (end := self._end_of(size)):
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.end()
                raise _DiedError(None)
            piece = os.read(out, 1 << 20)
            if not piece:
                raise _DiedError(self.end(kill=False))
            self._received += piece
            if size is None and len(self._received) > _MAX_ANSWER:
                self.end()
                raise CrashedError
        found = bytes(self._received[:end])
        del self._received[:end]
        return found

    def _end_of(self, size: int | None) -> int:
        """Return where a line, or ``size`` bytes, end among what was received; 0 if they are not complete."""
        if size is None:
            return self._received.find(b"\n") + 1
        return size if len(self._received) >= size else 0

    def _start(self) -> subprocess.Popen[bytes]:
        code = _START.format(paths=_search_path(), name=self._function)
        command = [sys.executable, "-c", code]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def end(self, *, kill: bool = True) -> int:
        """End the process, or wait for its end; return its exit status."""
        process, self._process = self._process, None
        self._received.clear()
        if process is None:
            return 0
        if kill:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        return process.wait()


def _search_path() -> list[str]:
    """Return the folders of modules for the other process: those of this one without the working folder.

    The folder of this package is the last one, so that it is found where it is in the working folder.
    """
    try:
        here = os.path.realpath(Path.cwd())
    except OSError:
        here = ""
    folders = [path for path in sys.path if Path(path).is_absolute() and os.path.realpath(path) != here]
    ours = str(Path(__file__).absolute().parents[3])
    return folders if ours in folders else [*folders, ours]


def serve(name: str) -> None:
    """Answer requests on the standard input until it is closed; the main function of the other process.

    Args:
        name: ``"module:function"``.
    """
    # Ctrl-C is handled by the parent process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Libraries may print on the standard output.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, function = name.split(":")
    missing = ""
    try:
        answer = getattr(importlib.import_module(module), function)
    except Exception as error:
        missing = f"{type(error).__name__}: {error}"
    out.write(json.dumps(missing).encode() + b"\n")
    out.flush()
    size = _memory_in_use()
    for line in sys.stdin.buffer:
        path, seconds, memory, *values = json.loads(line)
        _limit_time(seconds)
        _limit_memory(size, memory)
        found, data = _outcome(answer, Path(path), values)
        out.write(json.dumps({**found, "bytes": len(data)}).encode() + b"\n")
        out.write(data)
        out.flush()


def _outcome(answer: Callable[..., Any], path: Path, values: list[Any]) -> tuple[dict[str, Any], bytes]:
    try:
        found = answer(path, *values)
    except CannotReadError as error:
        return {"here": str(error)}, b""
    except TtsPrepError as error:
        return {"fault": str(error)}, b""
    except MemoryError:
        return {"fault": f"{path}: takes too much memory to read"}, b""
    return ({"answer": found[0]}, found[1]) if isinstance(found, tuple) else ({"answer": found}, b"")


def _memory_in_use() -> int:
    """Return the size of this process's memory in bytes; 0 where the system does not tell."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return pages * resource.getpagesize()
    return 0


def _limit_memory(size: int, more: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        if size:
            resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _limit_time(seconds: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = int(time.process_time()) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# By the number of this process, because a process that was forked from this one needs another.
_KEPT: Final[dict[tuple[int, str], ChildProcess]] = {}


def kept_process(function: str) -> ChildProcess:
    """Return the process of a function, which lives as long as this one."""
    key = (os.getpid(), function)
    if key not in _KEPT:
        _KEPT[key] = ChildProcess(function)
        atexit.register(_end_kept, *key)
    return _KEPT[key]


def _end_kept(number: int, function: str) -> None:
    if number == os.getpid():
        _KEPT[number, function].end()


@contextlib.contextmanager
def child_process(function: str) -> Iterator[ChildProcess]:
    """Yield a separate process, which ends with the block; see `ChildProcess`."""
    process = ChildProcess(function)
    try:
        yield process
    finally:
        process.end()
