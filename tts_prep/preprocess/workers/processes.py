"""Running the shards' jobs: in this process, in worker processes of this machine, or on another backend.

Worker processes are the standard library's (`multiprocessing`, started by ``spawn``), each at the end of a pipe of its
own. `concurrent.futures.ProcessPoolExecutor` shares one queue among them: it cannot say which job killed a worker, and
its named semaphores need ``/dev/shm`` and stay there when the command and its helper process are killed together.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar

from tts_prep.errors import WorkerError
from tts_prep.preprocess.workers.cluster import Backend, run_on_cluster
from tts_prep.preprocess.workers.worker import DONE, READY, STEP, work

Job = TypeVar("Job")
Done = TypeVar("Done")

_SPAWN = multiprocessing.get_context("spawn")
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
_ONE_THREAD: Final = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}
"""Environment of a worker: there is one worker a processor already."""


class _WorkerDiedError(Exception):
    """A worker process ended before it answered."""


def _nothing() -> None:
    pass


class _Worker:
    """One worker process and the pipe to it.

    Raises:
        OSError: the system has no process left to give.
    """

    def __init__(self, get_ready: Callable[[], None]) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=work, args=(theirs, pickle.dumps(get_ready)), daemon=True)
        try:
            with _one_thread(), _signals_blocked():
                self._process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self.is_ready = False

    def give(self, make: Callable[..., Any], job: object, *, reports: bool = False) -> None:
        """Send a job; with ``reports``, ``make`` is called with a function ``report`` that takes a number."""
        message = pickle.dumps((make, job, reports))
        # Where the worker is dead, `receive` says so.
        with contextlib.suppress(OSError):
            self.connection.send_bytes(message)

    def receive(self) -> tuple[str, Any]:
        """Wait for the next answer: its kind and its value.

        Raises:
            _WorkerDiedError: there will be none.
            Exception: what the job raised.
        """
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            raise _WorkerDiedError from None
        if kind == READY:
            self.is_ready = True
        elif kind not in (STEP, DONE):
            error, text = value
            raise error from RuntimeError(f"in a worker process:\n{text}")
        return kind, value

    def end(self) -> str:
        """Kill the process, whatever it does, and return how it had ended before."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        status = self._process.exitcode
        self._process.close()
        return f"signal {-status}" if status and status < 0 else f"exit status {status}"


class WorkerPool(Generic[Job, Done]):
    """Worker processes of this machine, or those of another backend; made by `worker_pool`.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
    """

    def __init__(self, jobs: int, backend: Backend) -> None:
        self._jobs = jobs
        self._backend = backend
        self._get_ready: Callable[[], None] = _nothing
        self._workers: list[_Worker] = []

    @property
    def has_processes(self) -> bool:
        """Whether the pool has processes of its own on this machine."""
        return self._backend.is_local and self._jobs > 1

    def start(self, get_ready: Callable[[], None] = _nothing) -> None:
        """Start the processes, so that they load libraries while this one still plans.

        Where the system gives fewer processes than ``jobs``, the pool makes do with those.

        Args:
            get_ready: what every process does first; can be pickled.

        Raises:
            WorkerError: not even one could be started.
        """
        self._get_ready = get_ready
        try:
            while len(self._workers) < self._jobs:
                self._workers.append(_Worker(get_ready))
        except OSError as error:
            if not self._workers:
                raise WorkerError(
                    f"no worker process can be started ({error.strerror}); give --jobs 1, or allow more processes"
                ) from error

    def run(
        self,
        make: Callable[..., Done],
        todo: Sequence[Job],
        names: Callable[[Job], str],
        without: Callable[[Job, int], Job] | None = None,
    ) -> Generator[Done, None, None]:
        """Yield the result of every job, in any order.

        A job whose worker was killed, or which raised MemoryError beside others, is done again at the end, alone: then
        it has all the memory. Where its worker is killed twice more at the same step of the job, that step is left out.

        Args:
            make: a function that can be pickled; with ``without``, it takes a keyword ``report``, a function to call
                with the number of each step before it begins, and a keyword ``beside_others``: whether other jobs are
                done at the same time, so that a lack of memory is to be raised.
            names: what to call a job in an error.
            without: returns a job less the step of a number, for jobs that can do without.

        Raises:
            WorkerError: the worker of a job was killed again, and no step can be left out.
        """
        if not self._backend.is_local:
            yield from run_on_cluster(make, todo, self._jobs, self._backend)
        elif self._jobs == 1:
            yield from map(make, todo)
        else:
            again: list[Job] = []
            try:
                yield from self._side_by_side(partial(make, beside_others=True) if without else make, todo, again)
                if again:
                    self.stop()
                for job in again:
                    yield self._alone(make, job, names, without)
            except BaseException:
                # Whoever clears away unfinished files next must not find a worker that still writes one.
                self.stop()
                raise

    def _side_by_side(
        self, make: Callable[[Job], Done], todo: Sequence[Job], again: list[Job]
    ) -> Generator[Done, None, None]:
        """Yield the results of jobs; add to ``again`` those whose worker was killed or had too little memory."""
        if not self._workers:
            self.start(self._get_ready)
        waiting, under_way = deque(todo), dict[_Worker, Job]()
        while waiting or under_way:
            for worker in self._workers:
                if worker not in under_way and waiting:
                    under_way[worker] = waiting.popleft()
                    worker.give(make, under_way[worker])
            connections = {worker.connection: worker for worker in self._workers}
            for connection in multiprocessing.connection.wait(list(connections)):
                worker = connections[connection]  # type: ignore[index]
                try:
                    kind, value = worker.receive()
                except _WorkerDiedError:
                    job = self._replace(worker, under_way)
                    if job is not None:
                        again.append(job)
                    continue
                except MemoryError:
                    again.append(under_way.pop(worker))
                    continue
                if kind == DONE:
                    del under_way[worker]
                    if waiting:
                        # Before the result is dealt with, so that the worker need not wait for that.
                        under_way[worker] = waiting.popleft()
                        worker.give(make, under_way[worker])
                    yield value

    def _replace(self, worker: _Worker, under_way: dict[_Worker, Job]) -> Job | None:
        """Put a new worker in the place of one that died, and return the job that it had."""
        self._workers.remove(worker)
        how = worker.end()
        if worker.is_ready:
            with contextlib.suppress(WorkerError):
                self.start(self._get_ready)
        if not self._workers:
            raise WorkerError(
                f"the last worker process ended ({how}) and no other can be started; what was done is kept. Give "
                "--jobs 1, or look for what ends processes here; a script that calls this needs "
                "if __name__ == '__main__'"
            )
        return under_way.pop(worker, None)

    def _alone(
        self,
        make: Callable[..., Done],
        job: Job,
        names: Callable[[Job], str],
        without: Callable[[Job, int], Job] | None,
    ) -> Done:
        before: int | None = None
        died = 0
        while True:
            step: int | None = None
            worker = _Worker(_nothing)
            try:
                worker.give(make, job, reports=without is not None)
                while True:
                    kind, value = worker.receive()
                    if kind == DONE:
                        result: Done = value
                        return result
                    step = value if kind == STEP else step
            except _WorkerDiedError:
                died += 1
                if without and died == 2 and step is not None and step == before:
                    job, died, before = without(job, step), 0, None
                elif died == (2 if without else 1):
                    raise WorkerError(
                        f"{names(job)}: its worker process was killed, and killed again with no other beside it; is "
                        "there enough memory? What was done is kept: give --shard-utterances a smaller number in a new "
                        "store, or look for what ends processes here"
                    ) from None
                else:
                    before = step
            finally:
                worker.end()

    def stop(self) -> None:
        """End the processes: they are no part of a library's next call, nor of a command that was interrupted."""
        while self._workers:
            self._workers.pop().end()


@contextmanager
def worker_pool(
    jobs: int, backend: Backend, get_ready: Callable[[], None] | None = None
) -> Iterator[WorkerPool[Any, Any]]:
    """Yield a pool for one run, and end its processes with it.

    Args:
        jobs: worker processes; 1 stands for this process.
        backend: where the processes are.
        get_ready: what to load in every process before there are jobs; None to wait for jobs.
    """
    pool: WorkerPool[Any, Any] = WorkerPool(jobs, backend)
    try:
        if get_ready and pool.has_processes:
            pool.start(get_ready)
        elif get_ready and not backend.is_local:
            # Into the compiler's cache, which the processes elsewhere may share.
            get_ready()
        yield pool
    finally:
        pool.stop()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give processes that are started in this block libraries of one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Start processes in which Ctrl-C and SIGTERM do nothing: it is this one that ends them.

    A terminal sends Ctrl-C to all processes of a command, and each would print a traceback.
    """
    # Started before, since its start lets the signals through again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
