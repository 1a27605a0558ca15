"""Where jobs run, and the environment of processes that run them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tts_prep.errors import ConfigurationError

LOCAL = "local"


DASK = "dask"


SAFE_PATH: Final = {"PYTHONSAFEPATH": "1"}
"""The environment variable with which Python, from version 3.11, imports nothing from the working folder.

Otherwise, a new process would run a ``multiprocessing.py`` of the working folder, which may be a store or a corpus that
comes from anywhere.
"""


@dataclass(frozen=True)
class Backend:
    """The backend that runs jobs.

    Attributes:
        name: ``"local"`` for processes on this machine, ``"dask"``, or the name of another backend registered with
            joblib.
        scheduler: the address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; None starts a local cluster.
    """

    name: str = LOCAL
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.name != DASK:
            raise ConfigurationError(f"scheduler: requires the backend 'dask', found {self.name!r}")

    @property
    def is_local(self) -> bool:
        """Whether jobs run in processes on this machine."""
        return self.name == LOCAL


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of this process, and of those that it starts, in this block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
