"""Run jobs on a Dask cluster, or on another joblib backend."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from tts_prep.errors import ConfigurationError, MissingPackageError, TtsPrepError, WorkerError
from tts_prep.preprocess.workers.pool import DASK, Backend
from tts_prep.preprocess.workers.processes import SAFE_PATH, environment

Job = TypeVar("Job")
Done = TypeVar("Done")


_CONNECT_SECONDS = 15


def run_on_cluster(
    make: Callable[[Job], Done], todo: Sequence[Job], jobs: int, backend: Backend, again: list[Job] | None = None
) -> Iterator[Done]:
    """Yield the result of every job, in any order.

    The backend handles jobs of workers that die; Dask gives them to other workers.

    Args:
        make: a picklable pure function; workers must be able to import this package.
        jobs: the number of workers of a local Dask cluster or of another backend; ignored for a running Dask cluster.
        again: gets the jobs that raised MemoryError; None makes that an error of the run.

    Raises:
        ConfigurationError: the backend is unknown.
        MissingPackageError: the package of the backend is not installed.
        WorkerError: the cluster cannot be reached, or gave up on a job.
    """
    # Imported here, because local processes do not need it.
    import joblib

    with environment(SAFE_PATH), _options(backend, jobs) as options, _errors_of(backend):
        with joblib.parallel_config(backend.name, **options):
            parallel = _parallel()
        tasks = (joblib.delayed(_caught)(make, number, job) for number, job in enumerate(todo))
        results = _in_rounds(parallel, tasks, 4 * jobs) if parallel.return_as == "list" else parallel(tasks)
        for number, result, error in results:
            if isinstance(error, MemoryError) and again is not None:
                again.append(todo[number])
            elif error is not None:
                raise error
            else:
                yield result


@contextmanager
def _errors_of(backend: Backend) -> Iterator[None]:
    """Convert exceptions of a backend in the block to those of a run."""
    try:
        yield
    except TtsPrepError:
        raise
    except ValueError as error:
        raise ConfigurationError(
            f"backend: neither local nor dask, and joblib has none named {backend.name!r} ({error})"
        ) from error
    except Exception as error:
        # Every backend has its own exceptions.
        raise WorkerError(
            f"backend {backend.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}; "
            "finished shards are kept, run again to resume"
        ) from error


def _parallel() -> Any:
    """Return a Parallel of the configured backend, whose results are a list if the backend has no generators."""
    import joblib

    # Bounded, because dispatched jobs occupy the memory of the scheduler.
    options: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "4*n_jobs"}
    try:
        return joblib.Parallel(return_as="generator_unordered", **options)
    except ValueError:
        return joblib.Parallel(**options)


def _in_rounds(parallel: Any, tasks: Iterator[Any], size: int) -> Iterator[Any]:
    """Yield the results of tasks, of which `size` at a time are run to the end."""
    with parallel:
        while some := list(islice(tasks, size)):
            yield from parallel(some)


def _caught(
    make: Callable[[Job], Done], number: int, job: Job
) -> tuple[int, Done | None, TtsPrepError | MemoryError | None]:
    """Return the result or the exception of a job, because backends differ in how they transport exceptions."""
    try:
        return number, make(job), None
    except (TtsPrepError, MemoryError) as error:
        return number, None, error


@contextmanager
def _options(backend: Backend, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield joblib's options for a backend, while its connection is open."""
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
