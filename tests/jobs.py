"""Jobs of worker processes, in a module that imports little: each process that does one imports it."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tts_prep.compiler import jit


def stop_once(path: Path, job: int) -> int:
    """Stop this process, the first time that the function is called."""
    try:
        with path.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return job
    os.kill(os.getpid(), signal.SIGSTOP)
    return job


def make_with_memory(job: int, beside_others: bool = False) -> tuple[int, bool]:
    if job == 2 and beside_others:
        raise MemoryError
    return job, beside_others


def lack_memory(_: int, beside_others: bool = False) -> None:
    raise MemoryError


def make_with_note(job: int, note: Callable[[str], None]) -> int:
    note(f"job {job}")
    return job


def sleep(seconds: float, _: object) -> None:
    time.sleep(seconds)


def mark_and_wait(mark: Path, moment: str, _: object) -> None:
    """Make a file for this process; then wait to be ended, if the file is that of the moment."""
    mark.with_name(f"{mark.name}-{os.getpid()}").touch()
    while mark.name == moment:
        time.sleep(60)


def say_ready(note: Callable[[str], None]) -> int:
    note("compiling")
    note("")
    return 5


def note_process(folder: Path, _: object) -> None:
    (folder / "process-ids").mkdir(exist_ok=True)
    (folder / "process-ids" / str(os.getpid())).touch()


def process_of(number: int) -> tuple[int, int]:
    time.sleep(0.1)
    return number, os.getpid()


def divide_by(number: int) -> float:
    return 1 / number


def die_once(mark: Path, number: int) -> int:
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def compiled_alone(number: int) -> int:
    return number + 1


def die_while_compiling(number: int) -> None:
    from numba import njit
    from numba.core import event

    class Kill(event.Listener):
        def on_start(self, event: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        def on_end(self, event: object) -> None:
            pass

    jit(compiled_alone)
    event.register("numba:compile", Kill())
    # Without the cache of `jit`, which may have it.
    njit(compiled_alone)(number)


def die_after_compiling(number: int) -> None:
    from numba import njit

    jit(compiled_alone)
    njit(compiled_alone)(number)
    os.kill(os.getpid(), signal.SIGKILL)


def start_another_and_die(folder: Path, _: int) -> None:
    """Start a process that has what a process inherits without Python's care, as a library in C can; then die."""
    (folder / str(os.posix_spawn("/bin/sleep", ["sleep", "600"], {}))).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def total_of_two(numbers: tuple[int, ...]) -> int:
    if len(numbers) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(numbers)


def total(numbers: tuple[int, ...], report: Callable[[int], None] = lambda _: None, beside_others: bool = False) -> int:
    for step, number in enumerate(numbers):
        report(step)
        if number < 0:
            os.kill(os.getpid(), signal.SIGSEGV)
    return sum(numbers)


def without(numbers: tuple[int, ...], step: int) -> tuple[int, ...]:
    return (*numbers[:step], 0, *numbers[step + 1 :])


def lack_memory_once(mark: Path, number: int, **_: object) -> int:
    if number == 2 and not mark.exists():
        mark.touch()
        raise MemoryError
    return number


def die_later_each_time(
    file: Path, _: int, report: Callable[[int], None] = lambda _: None, beside_others: bool = False
) -> None:
    times = len(file.read_bytes()) if file.exists() else 0
    file.write_bytes(bytes(times + 1))
    report(times)
    os.kill(os.getpid(), signal.SIGKILL)


def fork(number: int) -> tuple[int, bool]:
    """Return a value in two processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return number, os.fork() == 0


def fork_and_die(folder: Path, _: int) -> None:
    """Die, and leave a process that lives on, whose id is the name of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        forked = os.fork()
    if forked == 0:
        time.sleep(600)
        os._exit(0)
    (folder / str(forked)).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def fail_to_get_ready(_: object) -> None:
    raise SystemExit("nothing is ready")


class OfTwoArgumentsError(Exception):
    """An exception that can be pickled, and not unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def raise_of_two_arguments(_: int) -> None:
    raise OfTwoArgumentsError("one", "two")


def leave(_: int) -> None:
    raise SystemExit(3)


def say_what_is_imported(connection: Connection[Any, Any], names: list[str]) -> None:
    """Send those of some modules that were there before this function was called."""
    connection.send([name for name in names if name in sys.modules])
