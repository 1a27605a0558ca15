"""Where jobs run: in this process, in worker processes, or on another backend."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.progress import now_and_then

LOCAL: Final = "local"
DASK: Final = "dask"

ADVANCE_SECONDS: Final = 0.25
"""The least seconds between two answers on how far a job is."""

Job = TypeVar("Job")
Done = TypeVar("Done")
Note: TypeAlias = Callable[[str], None]
"""A function that is called with a text on what holds up the jobs, such as compiling; an empty text ends it."""


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


def _nothing(_: object) -> None:
    pass


@dataclass(frozen=True)
class Jobs(Generic[Job, Done]):
    """The arguments of `WorkerPool.run`."""

    make: Callable[..., Done]
    todo: Sequence[Job]
    names: Callable[[Job], str]
    without: Callable[[Job, int], Job] | None
    note: Note
    advanced: Callable[[Job, Any], None] | None


class WorkerPool(Generic[Job, Done]):
    """Runs jobs: one after another in this process, if nothing else says how; created by `worker_pool`."""

    @property
    def ready_values(self) -> list[Any]:
        """The return values of ``get_ready`` in the processes that have finished it."""
        return []

    def start(self, n_jobs: int) -> None:
        """Start as many processes as this many jobs need, so that they load libraries while this process plans.

        If the system cannot start as many, the pool uses fewer. On a cluster, ``get_ready`` is called in this process
        instead: it fills the compiler's cache, which remote processes may share.

        Raises:
            WorkerError: no process can be started.
        """

    def run(
        self,
        make: Callable[..., Done],
        todo: Sequence[Job],
        names: Callable[[Job], str],
        without: Callable[[Job, int], Job] | None = None,
        note: Note = _nothing,
        advanced: Callable[[Job, Any], None] | None = None,
    ) -> Generator[Done, None, None]:
        """Yield the result of every job, in any order.

        A job whose worker was killed, or which raised MemoryError while other jobs were running, is retried at the end,
        alone, with all of the memory. If its worker is killed twice more at the same step of the job, that step is
        skipped, as long as that changes the job. On a cluster, jobs of killed workers are left to the backend.

        Args:
            make: a picklable function. With ``without``, it has the keyword arguments ``report``, a function to call
                with the number of each step before the step, and ``beside_others``, whether other jobs are running, in
                which case it must raise MemoryError.
            names: returns the name of a job for error messages.
            without: returns a job without the step of a number, if steps can be skipped; an equal one if nothing of
                the step is left to skip.
            note: called with the notes of ``get_ready``, and with a text when a signal has stopped workers; with
                ``without`` and one job at a time, it is the keyword argument ``note`` of ``make``.
            advanced: called a few times a second with a job under way, and with what ``make`` last called its keyword
                argument ``advance`` with; not on a cluster, and not for a job that is retried.

        Raises:
            WorkerError: the worker of a job was killed again, and no step can be skipped.
        """
        return self._results(Jobs(make, todo, names, without, note, advanced))

    def _results(self, jobs: Jobs[Job, Done]) -> Generator[Done, None, None]:
        make = partial(jobs.make, note=jobs.note) if jobs.without else jobs.make
        for job in jobs.todo:
            if jobs.advanced:
                advance = now_and_then(partial(jobs.advanced, job), ADVANCE_SECONDS)
                yield make(job, advance=advance)
            else:
                yield make(job)

    def stop(self) -> None:
        """End all processes, also those after one whose end is interrupted."""


class _BackendPool(WorkerPool[Job, Done]):
    """Runs jobs on another backend."""

    def __init__(self, jobs: int, backend: Backend, get_ready: Callable[[Note], object]) -> None:
        self._jobs, self._backend, self._get_ready = jobs, backend, get_ready

    def start(self, n_jobs: int) -> None:  # noqa: ARG002 - the backend starts its own
        """Let this process get ready."""
        get_ready, self._get_ready = self._get_ready, _nothing
        get_ready(_nothing)

    def _results(self, jobs: Jobs[Job, Done]) -> Generator[Done, None, None]:
        self.start(len(jobs.todo))
        run, again = _run_on(self._backend), list[Job]()
        make = partial(jobs.make, beside_others=True) if jobs.without else jobs.make
        yield from run(make, jobs.todo, self._jobs, self._backend, again if jobs.without else None)
        for job in again:
            yield from run(jobs.make, [job], 1, self._backend)


def _run_on(backend: Backend) -> Callable[..., Iterator[Any]]:
    """Return the function that runs jobs on a backend.

    Raises:
        ConfigurationError: there is none.
    """
    row = doors.row("backends", backend.name)
    if row is None:
        raise ConfigurationError(f"backend: expected local, found {backend.name!r}, which this installation has not")
    found: Callable[..., Iterator[Any]] = doors.load("backends", row)
    return found


@contextmanager
def worker_pool(
    jobs: int, backend: Backend, get_ready: Callable[[Note], object] = _nothing
) -> Iterator[WorkerPool[Any, Any]]:
    """Yield a pool, whose processes end with the block.

    Args:
        jobs: the maximum number of worker processes; 1 runs jobs in this process.
        backend: where jobs run.
        get_ready: a picklable function that every process calls first, with a function that takes notes.
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise ConfigurationError(f"jobs: expected an integer >= 1, found {jobs!r}")
    pool: WorkerPool[Any, Any]
    if not backend.is_local:
        pool = _BackendPool(jobs, backend, get_ready)
    elif jobs == 1:
        pool = WorkerPool()
    else:
        from tts_prep.preprocess.workers.processes import ProcessPool

        pool = ProcessPool(jobs, get_ready)
    try:
        yield pool
    finally:
        pool.stop()
