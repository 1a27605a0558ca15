"""One test worker compiles at a time: what it has compiled, the others load from the compiler's cache."""

from __future__ import annotations

import os
import threading
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from typing import Any

from numba.core import event


class OneCompiler(event.Listener):
    """Holds the lock of a file while this process compiles, or reads what was compiled.

    A process that is forked from this one holds none.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._owner = path, os.getpid()
        self._guard, self._depth, self._file = threading.Lock(), 0, -1

    def register(self) -> None:
        """Hold the lock from now on."""
        # The event begins before the compiler looks into its cache.
        event.register("numba:compiler_lock", self)

    def on_start(self, _: Any) -> None:
        if os.getpid() == self._owner:
            with self._guard:
                # The compilation of a function can start that of another, and threads of a process wait for each other.
                self._depth += 1
                if self._depth == 1:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
                    flock(self._file, LOCK_EX)

    def on_end(self, _: Any) -> None:
        if os.getpid() == self._owner:
            with self._guard:
                self._depth -= 1
                if not self._depth:
                    # Closing it does not end the lock of a file that a forked process has open too.
                    flock(self._file, LOCK_UN)
                    os.close(self._file)
