"""A process that reads HDF5 files for one test after another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tts_prep.format.files.child_process import ChildProcess, child_process

_FUNCTION = "tts_prep.format.hdf5.reader:locations_as_json"


class SharedProcess:
    """Lends one process to all that would start one each, which takes a fifth of a second.

    A process has the working folder of its start: there is one for that of the tests, and one for another folder until
    the next one comes. In a process that was forked from this one, and while it is lent, each has its own. After a
    crash it is started again, as `ChildProcess` is.
    """

    def __init__(self) -> None:
        self._owner, self._folder = os.getpid(), os.path.realpath(".")
        self._processes: dict[str, ChildProcess] = {}
        self._is_lent = False

    def __enter__(self) -> SharedProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_all_but("")

    def _end_all_but(self, folder: str) -> None:
        for other in {*self._processes} - {folder}:
            self._processes.pop(other).end()

    def _of(self, folder: str) -> ChildProcess:
        if folder not in self._processes:
            self._end_all_but(self._folder)
            self._processes[folder] = ChildProcess(_FUNCTION)
        return self._processes[folder]

    @contextmanager
    def lend(self, function: str) -> Iterator[ChildProcess]:
        """Take the place of `child_process`."""
        folder = os.path.realpath(".")
        if self._is_lent or function != _FUNCTION or os.getpid() != self._owner:
            with child_process(function) as process:
                yield process
            return
        self._is_lent = True
        try:
            yield self._of(folder)
        finally:
            self._is_lent = False
