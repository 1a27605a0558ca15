"""Worker processes that are forked from one that has imported what they import, so that they start in no time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Listener
from multiprocessing.context import ForkServerProcess

# Nothing that starts threads, or changes with the environment. That of HTTP is for the ranks of benchmarks/chaos.py,
# which are forked from the same process: `multiprocessing` has one.
_IMPORTED = [
    *("tts_prep.preprocess.run", "tts_prep.models.processes", "tts_prep.preprocess.workers.worker", "soundfile"),
    "fsspec.implementations.http",
    # Its regular expressions take as long to compile as a worker takes for a small corpus.
    "tts_prep.english.normalization",
]


class _Process(ForkServerProcess):
    """A process with the environment of its start, as one that is spawned has it."""

    def __init__(self, *, target: Callable[..., object], args: tuple[object, ...], daemon: bool) -> None:
        super().__init__(daemon=daemon)
        self._run = target, args
        self._environment: dict[str, str] = {}

    def start(self) -> None:
        self._environment = dict(os.environ)
        super().start()

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        target, arguments = self._run
        target(*arguments)


class ForkedWorkers:
    """Takes the place of the context of `multiprocessing` that starts worker processes.

    What a worker does once it runs, and how it ends, is what it is for one that is spawned.
    """

    Process = _Process

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_IMPORTED)
        self.Pipe = context.Pipe
        # The folder of the server's socket is made now, not in a temporary folder of the first test with a worker.
        Listener(family="AF_UNIX").close()
