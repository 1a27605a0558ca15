"""Running the shards' jobs on another joblib backend than local processes: a Dask cluster, or one known by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tts_prep.errors import ConfigurationError, MissingPackageError, TtsPrepError, WorkerError

Job = TypeVar("Job")
Done = TypeVar("Done")

LOCAL = "local"
DASK = "dask"

_CONNECT_SECONDS = 15


@dataclass(frozen=True)
class Backend:
    """Where the jobs run.

    Attributes:
        name: ``"local"`` for processes of this machine, ``"dask"``, or the name of another backend that is registered
            with joblib.
        scheduler: address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; None for a cluster of this machine.
    """

    name: str = LOCAL
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.name != DASK:
            raise ConfigurationError(f"scheduler: only the backend 'dask' has one, found it with {self.name!r}")

    @property
    def is_local(self) -> bool:
        """Whether the jobs run in processes that this one starts."""
        return self.name == LOCAL


def run_on_cluster(make: Callable[[Job], Done], todo: Sequence[Job], jobs: int, backend: Backend) -> Iterator[Done]:
    """Yield the result of every job, in any order.

    What happens to the job of a worker that dies is the backend's matter; Dask gives it to another worker.

    Args:
        make: a pure function that can be pickled; workers must be able to import this package.
        jobs: workers of a Dask cluster of this machine; a cluster that runs already has its own number.

    Raises:
        ConfigurationError: the backend is not known.
        MissingPackageError: it is not installed.
        WorkerError: the cluster cannot be reached, or gave a job up.
    """
    # Not needed for processes of this machine.
    import joblib

    with _options(backend, jobs) as options:
        try:
            with joblib.parallel_config(backend.name, **options):
                # Bounded: what is dispatched ahead lies in the memory of the scheduler.
                parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="4*n_jobs")
                results = parallel(joblib.delayed(_caught)(make, job) for job in todo)
            for result, error in results:
                if error is not None:
                    raise error
                yield result
        except TtsPrepError:
            raise
        except ValueError as error:
            raise ConfigurationError(f"backend: joblib has none named {backend.name!r} ({error})") from error
        except Exception as error:
            # Each backend has exceptions of its own.
            raise WorkerError(
                f"backend {backend.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}; "
                "what was done is kept, run again to go on"
            ) from error


def _caught(make: Callable[[Job], Done], job: Job) -> tuple[Done | None, TtsPrepError | None]:
    """Return what a job gives or raises: backends differ in how they carry exceptions, not in how they carry values."""
    try:
        return make(job), None
    except TtsPrepError as error:
        return None, error


@contextmanager
def _options(backend: Backend, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield what joblib needs to know of a backend, while its connection is open."""
    if backend.name != DASK:
        yield {"n_jobs": jobs}
        return
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise MissingPackageError(
            f"backend: 'dask' needs the package distributed ({error}); install tts-prep[dask]"
        ) from None
    if backend.scheduler is None:
        with (
            dask.LocalCluster(
                n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
            ) as cluster,
            dask.Client(cluster, set_as_default=False) as client,
        ):
            yield {"client": client}
        return
    try:
        client = dask.Client(backend.scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkerError(
            f"{backend.scheduler}: no Dask scheduler answers there within {_CONNECT_SECONDS} s "
            f"({' '.join(str(error).split())[:200]}); start one with 'dask scheduler'"
        ) from error
    with client:
        yield {"client": client}
