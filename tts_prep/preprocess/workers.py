"""Running the shards' jobs: which backend, what a worker process is, and what happens when one is killed."""

from __future__ import annotations

import contextlib
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker as loky_resource_tracker

from tts_prep.errors import WorkerError
from tts_prep.preprocess.cluster import Backend, run_on_cluster

Job = TypeVar("Job")
Done = TypeVar("Done")

_TRACKER_WARNINGS = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
_TAKING_UP = 0.5
"""Seconds to wait at most for the pool's thread to take up a task: it is busy with others, or has ended."""

_PARENT_INTERVAL = 0.2
"""Seconds between two looks of a worker whether its parent is still there."""


class WorkerPool:
    """Worker processes of this machine, or those of another backend; made by `worker_pool`.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
        scratch: the folder for temporary files of processes on this machine.
    """

    def __init__(self, jobs: int, backend: Backend, scratch: Path) -> None:
        self._jobs = jobs
        self._backend = backend
        self._scratch = scratch
        self._running = False
        self._ready: Any = None

    @property
    def has_processes(self) -> bool:
        """Whether the pool has processes of its own on this machine."""
        return self._backend.is_local and self._jobs > 1

    def start(self, get_ready: Callable[[], None]) -> None:
        """Start the processes, so that they load libraries while this one still plans.

        Args:
            get_ready: what every process does first; can be pickled.
        """
        self._running = True
        with _pool_settings(self._jobs, self._scratch), _signals_left_to_this_process():
            self._ready = joblib.Parallel(return_as="generator_unordered", batch_size=1)(
                [joblib.delayed(get_ready)()] * self._jobs
            )

    def run(
        self, make: Callable[[Job], Done], todo: Sequence[Job], names: Callable[[Job], str]
    ) -> Generator[Done, None, None]:
        """Yield the result of every job, in any order.

        A worker that is killed takes the pool with it. The jobs that were under way are then done again, each with no
        other beside it in a fresh pool; the others go on in parallel afterwards.

        Args:
            make: a pure function that can be pickled.
            names: what to call a job in an error.

        Raises:
            WorkerError: the worker of a job was killed, and again when it was done alone.
        """
        if not self._backend.is_local:
            yield from run_on_cluster(make, todo, self._jobs, self._backend)
            return
        if self._jobs == 1:
            yield from map(make, todo)
            return
        left = dict(enumerate(todo))
        self._running = True
        try:
            while left:
                started: list[int] = []
                try:
                    for number, done in _run_pool(make, left, started, self._jobs, self._scratch):
                        del left[number]
                        yield done
                except BrokenProcessPool:
                    for number in [number for number in started if number in left]:
                        yield _run_alone(make, left.pop(number), names, self._scratch)
        except BaseException:
            # Before joblib closes what is under way, which it would replace by a fresh pool.
            self.stop()
            raise

    def stop(self) -> None:
        """End the processes: they are no part of a library's next call, nor of a command that was interrupted."""
        if not self._running:
            return
        self._running = False
        _stop_pool()
        if self._ready is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._ready.close()


@contextmanager
def worker_pool(
    jobs: int, backend: Backend, scratch: Path, get_ready: Callable[[], None] | None = None
) -> Iterator[WorkerPool]:
    """Yield a pool for one run, and end its processes with it.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
        scratch: their folder for temporary files.
        get_ready: what to load in every process before there are jobs; None to wait for jobs.
    """
    pool = WorkerPool(jobs, backend, scratch)
    try:
        if get_ready and pool.has_processes:
            pool.start(get_ready)
        elif get_ready and not backend.is_local:
            # Into the compiler's cache, which the processes elsewhere may share.
            get_ready()
        yield pool
    finally:
        pool.stop()


def _run_pool(
    make: Callable[[Job], Done], todo: dict[int, Job], started: list[int], jobs: int, scratch: Path
) -> Iterator[tuple[int, Done]]:
    """Yield number and result of every job; note in ``started`` those that workers were given."""

    def tasks() -> Iterator[tuple[Callable[..., tuple[int, Done]], tuple[object, ...], dict[str, object]]]:
        for number, job in list(todo.items()):
            started.append(number)
            yield joblib.delayed(_numbered)(make, number, job)

    with _pool_settings(jobs, scratch):
        with _signals_left_to_this_process():
            # A batch of one: what a shard's worker is killed for costs that shard.
            results = joblib.Parallel(return_as="generator_unordered", batch_size=1)(tasks())
        try:
            # Not "yield from", which would close the results, with a warning, before our own end is reached.
            for result in results:  # noqa: UP028
                yield result
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()


def _pool_settings(jobs: int, scratch: Path) -> Any:
    return joblib.parallel_config(
        "loky",
        n_jobs=jobs,
        inner_max_num_threads=1,
        temp_folder=str(scratch),
        initializer=end_with_parent,
        initargs=(os.getpid(),),
    )


def _numbered(make: Callable[[Job], Done], number: int, job: Job) -> tuple[int, Done]:
    return number, make(job)


def _run_alone(make: Callable[[Job], Done], job: Job, names: Callable[[Job], str], scratch: Path) -> Done:
    try:
        # Two workers and one job: joblib takes a pool of one for this very process.
        return next(_run_pool(make, {0: job}, [], 2, scratch))[1]
    except BrokenProcessPool as error:
        raise WorkerError(
            f"{names(job)}: its worker process was killed, and killed again with no other beside it; is there enough "
            "memory? What was done is kept: give --shard-utterances a smaller number in a new store, or look for what "
            "ends processes here"
        ) from error


def _stop_pool() -> None:
    executor = get_reusable_executor(reuse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # loky's own thread ends in a traceback when it is told to kill workers before it has taken up what they are to
        # do. It takes tasks up in order: once it has this one, it has all of them.
        with contextlib.suppress(RuntimeError):
            last = executor.submit(_nothing)
            deadline = time.monotonic() + _TAKING_UP
            while not (last.running() or last.done()) and time.monotonic() < deadline:
                time.sleep(0.001)
        executor.shutdown(wait=True, kill_workers=True)


def _nothing() -> None:
    pass


@contextmanager
def _signals_left_to_this_process() -> Iterator[None]:
    """Start processes in which Ctrl-C and SIGTERM do nothing: it is this one that ends them.

    A terminal sends Ctrl-C to all processes of a command, and each would print a traceback.
    """
    # Started before, for their start lets the signals through again.
    multiprocessing.resource_tracker.ensure_running()
    warned = os.environ.get("PYTHONWARNINGS")
    # After Ctrl-C the pool's tracker finds semaphores that were removed in the same instant, and would say so.
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [warned, _TRACKER_WARNINGS]))
    loky_resource_tracker.ensure_running()
    if warned is None:
        del os.environ["PYTHONWARNINGS"]
    else:
        os.environ["PYTHONWARNINGS"] = warned
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent(parent: int) -> None:
    """Have this worker process end when its parent has ended, however that ended."""
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True, name="parent watch").start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_INTERVAL)
    os._exit(1)
