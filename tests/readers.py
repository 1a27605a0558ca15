"""Processes that read a store behind a URL, forked from one that has imported what they import.

In a module that imports little: each process imports it.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

_PROCESSES = multiprocessing.get_context("forkserver")


def _read(url: str, cache: Path, names: tuple[str, ...], connection: Connection) -> None:
    from tts_prep.loader import UtteranceDataset

    dataset = UtteranceDataset(url, cache=cache)
    held = [dataset.views(name) for name in names] or dataset[0].mel
    connection.send(sum(float(view.sum()) for views in held for view in views))
    # Until the other process ends, or says that this one is to end.
    connection.poll(None)


@contextmanager
def reading(url: str, cache: Path, names: tuple[str, ...] = ()) -> Iterator[tuple[BaseProcess, Connection]]:
    """Yield a process that reads arrays of all utterances, or the mel of the first, and holds them; it is killed.

    Its connection has the sum of the values when they are read.
    """
    here, there = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=_read, args=(url, cache, names, there), daemon=True)
    with here:
        process.start()
        there.close()
        try:
            yield process, here
        finally:
            process.kill()
            process.join()
