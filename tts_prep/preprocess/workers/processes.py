"""Where jobs run: in this process, in worker processes, or on another backend.

Worker processes are those of `multiprocessing`, started by ``spawn``, each with its own pipe.
`concurrent.futures.ProcessPoolExecutor` shares one queue among workers: it cannot tell which job killed a worker, and
its named semaphores need ``/dev/shm`` and remain there if the command and its resource tracker are killed together.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar

from tts_prep import doors
from tts_prep.errors import ConfigurationError, WorkerError, described, one_line
from tts_prep.preprocess.workers.worker import ADVANCE, COMPILING, DONE, NOTE, READY, STEP, UNREADY, now_and_then, work

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


Job = TypeVar("Job")
Done = TypeVar("Done")

# Windows has neither SIGHUP nor SIGALRM.
_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_DEFERRED: Final = (*_SIGNALS, *(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name)))
"""The signals whose handlers wait while a process starts: also that of the timer that raises an interruption again."""
_SPAWN = multiprocessing.get_context("spawn")
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
_ENVIRONMENT: Final = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES} | SAFE_PATH
"""The environment of a worker: one thread each, because there is one worker per processor, and a safe search path."""


_ADVANCE_SECONDS: Final = 0.25
_ADVANCES: Final = 100
"""The least seconds between two answers of a worker on how far its job is, and the most such answers in a second."""

_WATCH_SECONDS = 10.0
"""Seconds without any answer after which stopped worker processes are looked for."""


class WorkerDiedError(Exception):
    """A worker process ended before it answered."""


Note: TypeAlias = Callable[[str], None]
"""A function that is called with a text on what holds up the jobs, such as compiling; an empty text ends it."""


def _nothing(_: object) -> None:
    pass


class Worker:
    """One worker process and the pipe to it.

    Attributes:
        is_ready: whether ``get_ready`` has ended.
        ready_value: what it returned.

    Raises:
        ConfigurationError: ``get_ready`` cannot be pickled.
        WorkerError: the system cannot start another process.
    """

    def __init__(self, get_ready: Callable[[Note], object]) -> None:
        self._get_ready = _pickled(get_ready)
        try:
            self._start()
        except OSError as error:
            raise WorkerError(
                f"no worker process can be started ({error.strerror}); give fewer --jobs, or allow more processes"
            ) from error
        self.is_ready = False
        self.ready_value: object = None
        self._compiling = ""

    def _start(self) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=work, args=(theirs, working_folder()), daemon=True)
        try:
            with environment(_ENVIRONMENT), _root_as_working_folder(), _signals_blocked():
                self._process.start()
        except BaseException:
            self.connection.close()
            if self._process.pid:  # interrupted after the start
                self._process.kill()
                self._process.join()
            raise
        finally:
            theirs.close()

    def begin(self) -> None:
        """Let the process call ``get_ready``; for a large one, wait until it has read it.

        Python writes the arguments of a process to a pipe that this process can read itself, so that it would wait for
        ever if the worker died before it had read arguments larger than the pipe. Here, `receive` raises then.
        """
        with contextlib.suppress(OSError):
            self.connection.send_bytes(self._get_ready)

    def give(self, make: Callable[..., Any], job: object, called: Mapping[str, float] = MappingProxyType({})) -> None:
        """Send a job; ``make`` gets functions to call with a value by name, ``report`` and ``advance``.

        Args:
            called: for each of these names, the least seconds between two answers.

        Raises:
            ConfigurationError: the function or the job cannot be pickled.
        """
        message = _pickled((make, job, dict(called)))
        # If the worker is dead, `receive` raises.
        with contextlib.suppress(OSError):
            self.connection.send_bytes(message)

    def receive(self) -> tuple[str, Any]:
        """Wait for the next answer; return its kind and its value.

        Raises:
            WorkerDiedError: the worker ended.
            Exception: the exception of the job.
        """
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            raise WorkerDiedError from None
        if kind in (READY, UNREADY):
            self.is_ready, self.ready_value = True, value if kind == READY else None
        elif kind == COMPILING:
            self._compiling = value
        elif kind not in (NOTE, STEP, ADVANCE, DONE):
            error, text = value
            raise error from RuntimeError(f"in a worker process:\n{text}")
        return kind, value

    @property
    def work(self) -> str:
        """What the process was doing, for the end of a message; nothing if only its job says it."""
        return f" while it compiled {self._compiling}" if self._compiling else ""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid or 0

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped the process (SIGSTOP, SIGTSTP); False where the system does not tell."""
        try:
            status = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        # The state follows the name of the program, which is in parentheses and may contain any character.
        return status.rpartition(")")[2].split()[:1] == ["T"]

    def end(self) -> str:
        """Kill the process, and return its exit status."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        status = self._process.exitcode
        # Where SIGCHLD is ignored, which a program inherits, the system keeps no status.
        with contextlib.suppress(ValueError):
            self._process.close()
        if status is None:
            return "exit status unknown"
        return f"signal {-status}" if status < 0 else f"exit status {status}"


class WorkerPool(Generic[Job, Done]):
    """Worker processes on this machine, or another backend; created by `worker_pool`.

    Args:
        jobs: the maximum number of worker processes; 1 runs jobs in this process.
        backend: where jobs run.
        get_ready: a picklable function that every process calls first, with a function that takes notes.
    """

    def __init__(self, jobs: int, backend: Backend, get_ready: Callable[[Note], object]) -> None:
        if not isinstance(jobs, int) or jobs < 1:
            raise ConfigurationError(f"jobs: expected an integer >= 1, found {jobs!r}")
        self._jobs = jobs
        self._backend = backend
        self._get_ready = get_ready
        self._workers: list[Worker] = []

    @property
    def ready_values(self) -> list[Any]:
        """The return values of ``get_ready`` in the processes that have finished it."""
        return [worker.ready_value for worker in self._workers if worker.is_ready]

    def start(self, n_jobs: int) -> None:
        """Start as many processes as this many jobs need, so that they load libraries while this process plans.

        If the system cannot start as many, the pool uses fewer. On a cluster, ``get_ready`` is called in this process
        instead: it fills the compiler's cache, which remote processes may share.

        Raises:
            WorkerError: no process can be started.
        """
        if not self._backend.is_local:
            self._get_ready(_nothing)
            self._get_ready = _nothing
            return
        try:
            while self._jobs > 1 and len(self._workers) < min(n_jobs, self._jobs):
                self._add(self._get_ready)
        except WorkerError:
            if not self._workers:
                raise

    def _add(self, get_ready: Callable[[Note], object]) -> Worker:
        """Start a process. An interruption comes after it is in the list, so that `stop` ends it."""
        with _handlers_deferred():
            self._workers.append(worker := Worker(get_ready))
        worker.begin()
        return worker

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
        beside_others = partial(make, beside_others=True) if without else make
        again: list[Job] = []
        self.start(len(todo))
        if not self._backend.is_local:
            yield from _elsewhere(self._backend)(
                beside_others, todo, self._jobs, self._backend, again if without else None
            )
            for job in again:
                yield from _elsewhere(self._backend)(make, [job], 1, self._backend)
        elif self._jobs == 1:
            for job in todo:
                alone = partial(make, note=note) if without else make
                if advanced:
                    alone = partial(alone, advance=now_and_then(partial(advanced, job), _ADVANCE_SECONDS))
                yield alone(job)
        else:
            try:
                yield from self._side_by_side(beside_others, todo, again, note, advanced)
                if again:
                    self.stop()
                for job in again:
                    yield self._alone(make, job, names, without, note)
            except BaseException:
                # The caller removes temporary files next, so no worker may still be writing one.
                self.stop()
                raise

    def _side_by_side(
        self,
        make: Callable[[Job], Done],
        todo: Sequence[Job],
        again: list[Job],
        note: Note,
        advanced: Callable[[Job, Any], None] | None,
    ) -> Generator[Done, None, None]:
        """Yield the results of jobs; append jobs whose worker was killed or ran out of memory to ``again``."""
        waiting, under_way = deque(todo), dict[Worker, Job]()
        called = {"advance": max(_ADVANCE_SECONDS, self._jobs / _ADVANCES)} if advanced else {}
        while waiting or under_way:
            for worker in self._workers:
                if worker not in under_way and waiting:
                    under_way[worker] = waiting.popleft()
                    worker.give(make, under_way[worker], called)
            for worker in _answering(self._workers, note):
                try:
                    kind, value = worker.receive()
                except WorkerDiedError:
                    job = self._replace(worker, under_way)
                    if job is not None:
                        again.append(job)
                    continue
                except MemoryError:
                    again.append(under_way.pop(worker))
                    continue
                if kind == NOTE:
                    note(value)
                elif kind == ADVANCE and advanced:
                    advanced(under_way[worker], value)
                elif kind == DONE:
                    del under_way[worker]
                    if waiting:
                        # Before yielding the result, so that the worker does not wait for the consumer.
                        under_way[worker] = waiting.popleft()
                        worker.give(make, under_way[worker], called)
                    yield value

    def _replace(self, worker: Worker, under_way: dict[Worker, Job]) -> Job | None:
        """Replace a worker that died, and return its job."""
        with _handlers_deferred():
            self._workers.remove(worker)
            how = worker.end()
        if worker.is_ready:
            with contextlib.suppress(WorkerError):
                self.start(len(self._workers) + 1)
        if not self._workers:
            raise WorkerError(
                f"the last worker process ended ({how}){worker.work} and no other can be started; finished shards are "
                "kept. Use --jobs 1, or look for what ends processes here; a script that calls this needs "
                "if __name__ == '__main__'"
            )
        return under_way.pop(worker, None)

    def _alone(
        self,
        make: Callable[..., Done],
        job: Job,
        names: Callable[[Job], str],
        without: Callable[[Job, int], Job] | None,
        note: Note,
    ) -> Done:
        before: int | None = None
        died = 0
        while True:
            step: int | None = None
            worker = self._add(_nothing)
            try:
                worker.give(make, job, {"report": 0.0} if without else {})
                while True:
                    _answering([worker], note)
                    kind, value = worker.receive()
                    if kind == DONE:
                        result: Done = value
                        return result
                    step = value if kind == STEP else step
            except WorkerDiedError:
                died += 1
                at_step = step if died == 2 and step == before else None
                shorter = job if without is None or at_step is None else without(job, at_step)
                if shorter != job:
                    job, died, before = shorter, 0, None
                elif died == (2 if without else 1):
                    raise WorkerError(
                        f"{names(job)}: its worker process was killed, and killed again while running "
                        f"alone{worker.work}; is there enough memory? Finished shards are kept: use a smaller "
                        "--shard-utterances for a new store, or look for what ends processes here"
                    ) from None
                else:
                    before = step
            finally:
                self.stop()

    def stop(self) -> None:
        """End all processes, also those after one whose end is interrupted."""
        with _handlers_deferred():
            while self._workers:
                self._workers.pop().end()


def _pickled(what: object) -> bytes:
    try:
        return pickle.dumps(what)
    except MemoryError:
        raise
    except Exception as error:  # objects of users have their own ways of being pickled
        raise ConfigurationError(
            one_line(
                f"a function cannot be sent to another process ({described(error)}); define functions and classes at "
                "the top level of a module, and give them settings that can be pickled"
            )
        ) from error


def _answering(workers: Sequence[Worker], note: Note) -> list[Worker]:
    """Wait for workers that answer or end. Note the processes that a signal has stopped, while nothing else happens."""
    connections = {worker.connection: worker for worker in workers}
    stopped: list[int] = []
    while not (ready := multiprocessing.connection.wait(list(connections), _WATCH_SECONDS)):
        now = sorted(worker.pid for worker in workers if worker.is_stopped)
        if now != stopped:
            stopped = now
            note(_stopped_text(stopped) if stopped else "")
    if stopped:
        note("")
    return [connections[connection] for connection in ready]  # type: ignore[index]


def _stopped_text(processes: Sequence[int]) -> str:
    text = ", ".join(map(str, processes))
    one = len(processes) == 1
    return (
        f"worker process{'' if one else 'es'} {text} {'is' if one else 'are'} stopped; "
        f"'kill -CONT {text.replace(',', '')}' continues"
    )


def _elsewhere(backend: Backend) -> Callable[..., Iterator[Any]]:
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
    """Yield a pool, whose processes end with the block; for the arguments, see `WorkerPool`."""
    pool: WorkerPool[Any, Any] = WorkerPool(jobs, backend, get_ready)
    try:
        yield pool
    finally:
        pool.stop()


@contextmanager
def _root_as_working_folder() -> Iterator[None]:
    """With Python 3.10, work in the root folder, from which a process started in this block can import nothing."""
    if sys.version_info >= (3, 11) or working_folder() is None:
        yield
        return
    before = os.open(".", os.O_RDONLY)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextmanager
def working_in(folder: str | None) -> Iterator[None]:
    """Work in a folder in this block, and after it in the one before; one that is None or was removed is left out."""
    before = working_folder()
    if folder is None or folder == before:
        yield
        return
    with contextlib.suppress(OSError):
        os.chdir(folder)
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError):
                os.chdir(before)


def working_folder() -> str | None:
    """Return the working folder; None if it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block SIGINT, SIGTERM and SIGHUP in processes started in this block, which the parent process ends.

    A terminal sends SIGINT to all processes of a command, and each would print a traceback. So would a process whose
    parent is interrupted while it starts it, so the parent handles signals after the block.
    """
    # Start the resource tracker first, because starting it unblocks the signals.
    multiprocessing.resource_tracker.ensure_running()
    with _handlers_deferred():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _handlers_deferred() -> Iterator[None]:
    """Call Python's handlers of signals after the block.

    Blocking is not enough: another thread, such as one of OpenBLAS, can receive a signal that the main thread blocks.
    Its handler is then called in the main thread.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}
    # Only the main thread handles signals.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in _DEFERRED if callable(signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)
