"""Running the shards' jobs: which backend, what a worker process is, and what happens when one is killed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import resource_tracker as loky_resource_tracker

from tts_prep.errors import WorkerError
from tts_prep.preprocess.workers.cluster import Backend, run_on_cluster

Job = TypeVar("Job")
Done = TypeVar("Done")

_TRACKER_WARNINGS = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
_PARENT_INTERVAL = 0.2
"""Seconds between two looks of a worker whether its parent is still there."""

_NOTICING = 1.0
"""Seconds to wait at most for a pool to find its workers dead."""

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
_ONE_THREAD: Final = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}
"""Environment of a worker: every processor has one of its own."""


class _Processes:
    """Worker processes of this machine, which end with their parent and leave signals to it.

    They are joblib's (loky's), without joblib around them: it ends them by itself when it is interrupted, and in a
    traceback where they have not taken up yet all that they are to do.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._executor = ProcessPoolExecutor(
            jobs, timeout=None, initializer=end_with_parent, initargs=(os.getpid(),), env=_ONE_THREAD
        )
        self._children: list[Any] = []

    def submit(self, function: Callable[..., Done], *arguments: Any) -> concurrent.futures.Future[Done]:
        """Have a function called in one of the processes, which are started with the first call.

        Raises:
            BrokenProcessPool: one of them was killed.
        """
        if not self._children:
            before = set(multiprocessing.active_children())
            with _signals_left_to_this_process():
                self._executor.submit(_nothing)
                self._children = [child for child in multiprocessing.active_children() if child not in before]
        future: concurrent.futures.Future[Done] = self._executor.submit(function, *arguments)
        return future

    def end(self) -> None:
        """Kill the processes, whatever they do."""
        # The executor's thread ends in a traceback when it is told to kill workers that have not taken up yet all that
        # they are to do. Where it finds them dead, it gives everything up in order.
        with contextlib.suppress(RuntimeError, concurrent.futures.TimeoutError):
            last = self._executor.submit(_nothing) if self._children else None
            for child in self._children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
            # Given up, or done before; then all that was to be done before it was taken up.
            if last is not None:
                last.exception(_NOTICING)
        self._executor.shutdown(wait=True, kill_workers=True)


def _nothing() -> None:
    pass


class WorkerPool:
    """Worker processes of this machine, or those of another backend; made by `worker_pool`.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
    """

    def __init__(self, jobs: int, backend: Backend) -> None:
        self._jobs = jobs
        self._backend = backend
        self._processes: _Processes | None = None

    @property
    def has_processes(self) -> bool:
        """Whether the pool has processes of its own on this machine."""
        return self._backend.is_local and self._jobs > 1

    def start(self, get_ready: Callable[[], None]) -> None:
        """Start the processes, so that they load libraries while this one still plans.

        Args:
            get_ready: what every process does first; can be pickled.
        """
        self._processes = _Processes(self._jobs)
        for _ in range(self._jobs):
            self._processes.submit(get_ready)

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
        while left:
            self._processes = self._processes or _Processes(self._jobs)
            under_way: dict[concurrent.futures.Future[Done], int] = {}
            try:
                for number, done in _results(self._processes, make, left, under_way):
                    del left[number]
                    yield done
            except BrokenProcessPool:
                self.stop()
                for number in under_way.values():
                    yield _done_alone(make, left.pop(number), names)

    def stop(self) -> None:
        """End the processes: they are no part of a library's next call, nor of a command that was interrupted."""
        if self._processes is not None:
            processes, self._processes = self._processes, None
            processes.end()


@contextmanager
def worker_pool(jobs: int, backend: Backend, get_ready: Callable[[], None] | None = None) -> Iterator[WorkerPool]:
    """Yield a pool for one run, and end its processes with it.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
        get_ready: what to load in every process before there are jobs; None to wait for jobs.
    """
    pool = WorkerPool(jobs, backend)
    try:
        if get_ready and pool.has_processes:
            pool.start(get_ready)
        elif get_ready and not backend.is_local:
            # Into the compiler's cache, which the processes elsewhere may share.
            get_ready()
        yield pool
    finally:
        pool.stop()


def _results(
    processes: _Processes,
    make: Callable[[Job], Done],
    todo: dict[int, Job],
    under_way: dict[concurrent.futures.Future[Done], int],
) -> Iterator[tuple[int, Done]]:
    """Yield number and result of every job; keep in ``under_way`` those that workers have been given.

    Raises:
        BrokenProcessPool: a worker was killed.
    """
    coming = iter(list(todo.items()))

    def submit(count: int) -> None:
        for number, job in islice(coming, count):
            under_way[processes.submit(make, job)] = number

    # One more than there are workers, so that none waits for this process.
    submit(processes.jobs + 1)
    while under_way:
        finished, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in finished:
            done = future.result()
            number = under_way.pop(future)
            submit(1)
            yield number, done


def _done_alone(make: Callable[[Job], Done], job: Job, names: Callable[[Job], str]) -> Done:
    processes = _Processes(1)
    try:
        return processes.submit(make, job).result()
    except BrokenProcessPool as error:
        raise WorkerError(
            f"{names(job)}: its worker process was killed, and killed again with no other beside it; is there enough "
            "memory? What was done is kept: give --shard-utterances a smaller number in a new store, or look for what "
            "ends processes here"
        ) from error
    finally:
        processes.end()


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
