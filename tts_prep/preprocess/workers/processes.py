"""Jobs in worker processes on this machine.

The processes are those of `multiprocessing`, started by ``spawn``, each with its own pipe.
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
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tts_prep.errors import ConfigurationError, WorkerError, described, one_line
from tts_prep.preprocess.workers.pool import ADVANCE_SECONDS, Done, Job, Jobs, Note, WorkerPool
from tts_prep.preprocess.workers.worker import ADVANCE, COMPILING, DONE, NOTE, READY, STEP, UNREADY, work

SAFE_PATH: Final = {"PYTHONSAFEPATH": "1"}
"""The environment variable with which Python, from version 3.11, imports nothing from the working folder.

Otherwise, a new process would run a ``multiprocessing.py`` of the working folder, which may be a store or a corpus that
comes from anywhere.
"""


@contextlib.contextmanager
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


# Windows has neither SIGHUP nor SIGALRM.
_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_DEFERRED: Final = (*_SIGNALS, *(getattr(signal, name) for name in ("SIGALRM",) if hasattr(signal, name)))
"""The signals whose handlers wait while a process starts: also that of the timer that raises an interruption again."""
_SPAWN = multiprocessing.get_context("spawn")
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
_ENVIRONMENT: Final = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES} | SAFE_PATH
"""The environment of a worker: one thread each, because there is one worker per processor, and a safe search path."""


_ADVANCES: Final = 100
"""The most answers of workers in a second on how far their jobs are."""

_WATCH_SECONDS = 10.0
"""Seconds without any answer after which stopped worker processes are looked for."""


class WorkerDiedError(Exception):
    """A worker process ended before it answered."""


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


class ProcessPool(WorkerPool[Job, Done]):
    """Runs jobs in processes; see `worker_pool`."""

    def __init__(self, jobs: int, get_ready: Callable[[Note], object]) -> None:
        self._jobs = jobs
        self._get_ready = get_ready
        self._workers: list[Worker] = []

    @property
    def ready_values(self) -> list[Any]:
        """The values of the processes that are ready."""
        return [worker.ready_value for worker in self._workers if worker.is_ready]

    def start(self, n_jobs: int) -> None:
        """Start processes."""
        try:
            while len(self._workers) < min(n_jobs, self._jobs):
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

    def _results(self, jobs: Jobs[Job, Done]) -> Generator[Done, None, None]:
        again: list[Job] = []
        self.start(len(jobs.todo))
        try:
            yield from self._side_by_side(jobs, again)
            if again:
                self.stop()
            for job in again:
                yield self._alone(jobs, job)
        except BaseException:
            # The caller removes temporary files next, so no worker may still be writing one.
            self.stop()
            raise

    def _side_by_side(self, jobs: Jobs[Job, Done], again: list[Job]) -> Generator[Done, None, None]:
        """Yield the results of jobs; append jobs whose worker was killed or ran out of memory to ``again``."""
        make = partial(jobs.make, beside_others=True) if jobs.without else jobs.make
        waiting, under_way = deque(jobs.todo), dict[Worker, Job]()
        called = {"advance": max(ADVANCE_SECONDS, self._jobs / _ADVANCES)} if jobs.advanced else {}
        while waiting or under_way:
            for worker in self._workers:
                if worker not in under_way and waiting:
                    under_way[worker] = waiting.popleft()
                    worker.give(make, under_way[worker], called)
            for worker in _answering(self._workers, jobs.note):
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
                    jobs.note(value)
                elif kind == ADVANCE and jobs.advanced:
                    jobs.advanced(under_way[worker], value)
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

    def _alone(self, jobs: Jobs[Job, Done], job: Job) -> Done:
        without = jobs.without
        before: int | None = None
        died = 0
        while True:
            step: int | None = None
            worker = self._add(_nothing)
            try:
                worker.give(jobs.make, job, {"report": 0.0} if without else {})
                while True:
                    _answering([worker], jobs.note)
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
                        f"{jobs.names(job)}: its worker process was killed, and killed again while running "
                        f"alone{worker.work}; is there enough memory? Finished shards are kept: use a smaller "
                        "--shard-utterances for a new store, or look for what ends processes here"
                    ) from None
                else:
                    before = step
            finally:
                self.stop()

    def stop(self) -> None:
        """End all processes."""
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


@contextlib.contextmanager
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


@contextlib.contextmanager
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


@contextlib.contextmanager
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


@contextlib.contextmanager
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
