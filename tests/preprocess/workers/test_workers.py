"""Worker processes that are started before jobs exist, and terminated immediately."""

from __future__ import annotations

import errno
import multiprocessing
import multiprocessing.resource_tracker
import multiprocessing.spawn
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jobs
import pytest
from commands import light
from forked_workers import ForkedWorkers

from tts_prep.cli import interruption
from tts_prep.doors import rooms
from tts_prep.errors import ConfigurationError, WorkerError
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.workers import processes
from tts_prep.preprocess.workers.pool import Backend, worker_pool
from tts_prep.preprocess.workers.processes import Worker, _signals_blocked
from tts_prep.preprocess.workers.worker import FAILED, _answer

OWN = pytest.mark.usefixtures("own_workers")


def test_a_worker_of_other_tests_is_forked_with_what_it_imports() -> None:
    # A module of tests that says for `multiprocessing` what its server imports would take this back for all of them.
    if not isinstance(processes._SPAWN, ForkedWorkers):
        pytest.skip("workers are not forked here")
    ours, theirs = processes._SPAWN.Pipe()
    asked = ["tts_prep.preprocess.run", *(["tts_prep.models.processes"] if "models" in rooms() else []), "soundfile"]
    with ours, theirs:
        child = processes._SPAWN.Process(target=jobs.say_what_is_imported, args=(theirs, asked), daemon=True)
        child.start()
        assert ours.recv() == asked
        child.join()


@OWN
def test_a_pool_that_is_ended_as_soon_as_it_is_started_ends_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracebacks: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)
    for _ in range(15):
        with pytest.raises(KeyboardInterrupt), worker_pool(2, Backend(), partial(jobs.sleep, 0.1)) as pool:
            pool.start(2)
            raise KeyboardInterrupt
    assert not tracebacks


@OWN
@pytest.mark.parametrize("moment", ["starting", "getting-ready", "working"])
def test_a_run_that_is_interrupted_with_more_to_do_than_the_pool_has_taken_up_ends_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    tracebacks: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)
    ended = threading.Event()

    def interrupt() -> None:
        while moment != "starting" and not list(tmp_path.glob(f"{moment}-*")):
            if ended.wait(0.001):
                return
        os.kill(os.getpid(), signal.SIGINT)

    interruption = threading.Thread(target=interrupt)
    with (
        pytest.raises(KeyboardInterrupt),
        worker_pool(2, Backend(), partial(jobs.mark_and_wait, tmp_path / "getting-ready", moment)) as pool,
    ):
        interruption.start()
        try:
            list(pool.run(partial(jobs.mark_and_wait, tmp_path / "working", moment), range(40), str))
        finally:
            ended.set()
            interruption.join()
    assert not tracebacks


@pytest.fixture
def received() -> Iterator[socket.socket]:
    """Yield a socket with a byte for each signal that a thread of this process has received, whichever it is."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno())
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(before)


def test_a_signal_that_another_thread_receives_while_a_process_starts_interrupts_after_the_start(
    received: socket.socket,
) -> None:
    end, started = threading.Event(), []
    # A thread that does not block the signal.
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt), _signals_blocked():
            os.kill(os.getpid(), signal.SIGINT)
            assert received.recv(1) == bytes([signal.SIGINT])
            started.append(True)
    finally:
        end.set()
        other.join()
    assert started
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_of_an_import_is_not_raised_again_while_a_process_starts() -> None:
    started = []
    with interruption.ending_in_order(), pytest.raises(KeyboardInterrupt), _signals_blocked():
        # As the timer does that raises the exception again after an import.
        signal.raise_signal(signal.SIGALRM)
        started.append(True)
    assert started


@OWN
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the state of a process is read from /proc")
def test_a_worker_that_is_stopped_is_named_after_a_while_and_its_job_is_done_when_it_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.preprocess.workers.processes._WATCH_SECONDS", 0.2)
    notes: list[str] = []

    def continue_it(text: str) -> None:
        notes.append(text)
        if "stopped" in text:
            os.kill(int(text.split("kill -CONT ")[1].split("'")[0]), signal.SIGCONT)

    with worker_pool(2, Backend()) as pool:
        done = sorted(pool.run(partial(jobs.stop_once, tmp_path / "stopped"), [1, 2, 3], str, note=continue_it))
    assert done == [1, 2, 3]
    number = (tmp_path / "stopped").read_text()
    assert notes == [f"worker process {number} is stopped; 'kill -CONT {number}' continues", ""]


@OWN
def test_processes_that_were_started_early_do_the_jobs(tmp_path: Path) -> None:
    mark = partial(jobs.note_process, tmp_path)
    with worker_pool(2, Backend(), mark) as pool:
        pool.start(2)
        done = sorted(pool.run(jobs.process_of, [1, 2, 3, 4], str))
    started = {int(path.name) for path in tmp_path.glob("process-*/*")}
    assert [number for number, _ in done] == [1, 2, 3, 4]
    assert started
    assert {process for _, process in done} & started


def test_the_pool_has_what_get_ready_returns_in_its_processes() -> None:
    with worker_pool(2, Backend(), jobs.say_ready) as pool:
        list(pool.run(jobs.process_of, [1, 2, 3, 4], str))
        assert set(pool.ready_values) == {5}


def test_notes_of_get_ready_come_out_of_the_run_in_order() -> None:
    notes: list[str] = []
    with worker_pool(2, Backend(), jobs.say_ready) as pool:
        list(pool.run(jobs.process_of, [1, 2, 3, 4], str, note=notes.append))
        # One process may have done all jobs before the other was ready, or had sent both of its notes.
        orders = (["compiling", "", "compiling", ""], ["compiling", "compiling", "", ""])
        assert "" in notes
        assert any(notes == order[: len(notes)] for order in orders)


def test_without_processes_the_job_gets_the_function_for_notes() -> None:
    notes: list[str] = []
    with worker_pool(1, Backend()) as pool:
        assert list(pool.run(jobs.make_with_note, [1, 2], str, lambda job, _: job, notes.append)) == [1, 2]
    assert notes == ["job 1", "job 2"]


@pytest.mark.whole
def test_a_job_of_a_cluster_that_lacks_memory_beside_others_is_done_alone_at_the_end() -> None:
    # A backend of joblib takes the path of clusters.
    with worker_pool(2, Backend("threading")) as pool:
        done = list(pool.run(jobs.make_with_memory, [1, 2, 3, 4], str, lambda job, _: job))
    assert sorted(done) == [(1, True), (2, False), (3, True), (4, True)]
    assert done[-1] == (2, False)


@pytest.mark.whole
def test_a_job_of_a_cluster_that_lacks_memory_even_alone_ends_the_run() -> None:
    with worker_pool(2, Backend("threading")) as pool, pytest.raises(WorkerError, match="threading: MemoryError"):
        list(pool.run(jobs.lack_memory, [1, 2], str, lambda job, _: job))


@OWN
@pytest.mark.parametrize("number", [0, -1, "2", None])
def test_a_number_of_processes_that_is_none_is_refused_instead_of_waited_for(number: Any) -> None:
    with (
        pytest.raises(ConfigurationError, match=f"jobs: expected an integer >= 1, found {number!r}"),
        worker_pool(number, Backend()),
    ):
        pytest.fail("it was accepted")


def test_a_pool_starts_no_more_processes_than_it_has_jobs() -> None:
    with worker_pool(4, Backend()) as pool:
        assert not multiprocessing.active_children()
        pool.start(1)
        first = multiprocessing.active_children()
        pool.start(2)
        assert len(first) == 1
        assert len(multiprocessing.active_children()) == 2
        assert sorted(pool.run(abs, [-1, -2, -3], str)) == [1, 2, 3]
        assert len(multiprocessing.active_children()) == 3
        pool.start(9)
        assert len(multiprocessing.active_children()) == 4


@OWN
def test_a_store_of_one_shard_starts_one_process(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = multiprocessing.context.SpawnProcess.start, []

    def count(process: multiprocessing.context.SpawnProcess) -> None:
        started.append(process)
        start(process)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", count)
    result = prepare(read_ljspeech(corpus), corpus, tmp_path / "store", light(1000), jobs=8)
    assert (result.shards, len(started)) == (1, 1)
    prepare(read_ljspeech(corpus), corpus, tmp_path / "store", light(1000), jobs=8)
    assert len(started) == 1


def test_the_error_of_a_job_comes_out_with_the_traceback_of_its_worker() -> None:
    with worker_pool(2, Backend()) as pool, pytest.raises(ZeroDivisionError) as error:
        list(pool.run(jobs.divide_by, [0], str))
    assert "divide_by" in str(error.value.__cause__)


def test_a_job_whose_worker_is_killed_once_is_done_again_and_the_others_go_on(tmp_path: Path) -> None:
    with worker_pool(2, Backend()) as pool:
        done = list(pool.run(partial(jobs.die_once, tmp_path / "died"), [1, 2, 3, 4], str))
    assert sorted(done) == [1, 2, 3, 4]
    # Alone, after all others.
    assert done[-1] == 2
    assert not multiprocessing.active_children()


def test_a_job_whose_worker_is_killed_again_alone_is_done_in_smaller_parts() -> None:
    # As a shard that needs more memory than there is.
    with worker_pool(2, Backend()) as pool:
        with pytest.raises(WorkerError, match=r"job \(1, 2, 3\): its worker .* use a smaller --shard-utterances"):
            list(pool.run(jobs.total_of_two, [(1, 2, 3)], "job {}".format))
        assert sorted(pool.run(jobs.total_of_two, [(1, 2), (3,)], str)) == [3, 3]


def test_a_worker_that_is_killed_while_it_compiles_is_an_error_that_names_what_it_compiled() -> None:
    pytest.importorskip("numba")
    name = r"jobs\.compiled_alone"
    with (
        worker_pool(2, Backend()) as pool,
        pytest.raises(WorkerError, match=f"alone while it compiled {name}; is there"),
    ):
        list(pool.run(jobs.die_while_compiling, [1], str))


def test_a_worker_that_is_killed_after_it_has_compiled_is_an_error_without_the_name() -> None:
    pytest.importorskip("numba")
    with worker_pool(2, Backend()) as pool, pytest.raises(WorkerError, match="killed again while running alone; is"):
        list(pool.run(jobs.die_after_compiling, [1], str))


@OWN
def test_a_job_that_forks_and_returns_twice_has_the_result_of_its_worker() -> None:
    with worker_pool(2, Backend()) as pool:
        assert sorted(pool.run(jobs.fork, [*range(20)], str)) == [(number, False) for number in range(20)]


@OWN
def test_a_worker_that_dies_is_seen_although_a_process_that_it_forked_lives_on(tmp_path: Path) -> None:
    with worker_pool(2, Backend()) as pool, pytest.raises(WorkerError, match="job 1: its worker process was killed"):
        list(pool.run(partial(jobs.fork_and_die, tmp_path), [1], "job {}".format))
    # It raises if one of them has ended.
    for forked in tmp_path.iterdir():
        os.kill(int(forked.name), signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2


@OWN
def test_a_worker_that_dies_is_seen_although_a_program_that_it_started_lives_on(tmp_path: Path) -> None:
    try:
        with worker_pool(2, Backend()) as pool, pytest.raises(WorkerError, match="job 1: its worker process was kill"):
            list(pool.run(partial(jobs.start_another_and_die, tmp_path), [1], "job {}".format))
    finally:
        started = [int(path.name) for path in tmp_path.iterdir()]
        # It raises if one of them has ended.
        for number in started:
            os.kill(number, signal.SIGKILL)
    assert len(started) == 2


@OWN
def test_a_worker_that_dies_before_it_has_read_a_large_function_is_an_error_that_one_job_avoids() -> None:
    before = multiprocessing.spawn.get_executable()
    multiprocessing.resource_tracker.ensure_running()
    multiprocessing.set_executable(shutil.which("false") or "")
    try:
        with (
            worker_pool(2, Backend(), partial(jobs.sleep, bytes(1 << 20))) as pool,  # type: ignore[arg-type]
            pytest.raises(WorkerError, match=r"the last worker process ended \(exit status 1\).* Use --jobs 1"),
        ):
            list(pool.run(abs, [-1, -2], str))
        with worker_pool(1, Backend()) as pool:
            assert list(pool.run(abs, [-1, -2], str)) == [1, 2]
    finally:
        multiprocessing.set_executable(before)


IGNORING_ENDS = """
import signal
from tts_prep.preprocess.workers.pool import Backend, worker_pool

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with worker_pool(2, Backend()) as pool:
    print(sorted(pool.run(abs, [-1, -2, -3], str)))
"""


def test_a_program_that_ignores_the_ends_of_processes_ends_with_its_workers() -> None:
    # A worker that it left would be waited for at its end, without end.
    found = subprocess.run([sys.executable, "-c", IGNORING_ENDS], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "[1, 2, 3]\n", "")


@OWN
@pytest.mark.parametrize("call", ["start", "kill"])
def test_an_interruption_while_a_process_starts_or_ends_leaves_no_process(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(multiprocessing.context.SpawnProcess, call)
    called: list[int] = []

    def interrupted(process: multiprocessing.context.SpawnProcess) -> None:
        real(process)
        called.append(process.pid or 0)
        if len(called) == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, call, interrupted)
    with pytest.raises(KeyboardInterrupt), worker_pool(2, Backend(), partial(jobs.sleep, 600)) as pool:
        pool.start(2)
    assert called
    assert not multiprocessing.active_children()


@OWN
def test_a_process_whose_start_is_interrupted_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    start = multiprocessing.context.SpawnProcess.start

    def interrupted(process: multiprocessing.context.SpawnProcess) -> None:
        start(process)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Worker(partial(jobs.sleep, 600))
    assert not multiprocessing.active_children()


def test_jobs_are_done_by_processes_that_could_not_get_ready() -> None:
    with worker_pool(2, Backend(), jobs.fail_to_get_ready) as pool:
        assert sorted(pool.run(abs, [-1, -2, -3], str)) == [1, 2, 3]
        assert set(pool.ready_values) == {None}


@OWN
def test_a_job_that_cannot_be_sent_to_a_process_is_an_error_with_the_reason() -> None:
    with (
        worker_pool(2, Backend()) as pool,
        pytest.raises(ConfigurationError, match=r"cannot be sent to another process \(.*<lambda>.*; define functions"),
    ):
        list(pool.run(lambda number: number, [1, 2], str))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        # As another exception, unless a library that is imported has taught pickle to read such exceptions.
        (jobs.raise_of_two_arguments, Exception, "OfTwoArgumentsError: one and two"),
        (jobs.leave, WorkerError, "WorkerError: a job ended with SystemExit: 3"),
        (jobs.lack_memory, MemoryError, "MemoryError: "),
    ],
)
def test_what_a_job_raises_is_an_exception_that_the_parent_can_read(
    function: Any, kind: type[Exception], message: str
) -> None:
    parent, child = multiprocessing.Pipe()
    with parent, child:
        answer, (error, text) = pickle.loads(_answer(child, pickle.dumps((function, 1, {}))))
    assert answer == FAILED
    assert isinstance(error, kind)
    assert f"{type(error).__name__}: {error}".endswith(message)
    assert function.__name__ in text


def test_a_function_whose_module_a_worker_cannot_import_is_an_error_with_the_reason() -> None:
    parent, child = multiprocessing.Pipe()
    with parent, child:
        # As pickle writes a function: the module, and the name in it.
        _, (error, _) = pickle.loads(_answer(child, b"cno_such_module\nfunction\n."))
    assert isinstance(error, ConfigurationError)
    assert "cannot be loaded in a worker process: ModuleNotFoundError: No module named 'no_such_module'" in str(error)


def test_the_steps_that_kill_a_worker_are_left_out_and_no_others() -> None:
    numbers = [(1, 2, 3), (4, -5, 6, -7), (8,)]
    with worker_pool(2, Backend()) as pool:
        done = list(pool.run(jobs.total, numbers, str, jobs.without))
    assert sorted(done) == [6, 8, 4 + 6]


def test_a_step_that_kills_its_worker_although_it_was_left_out_is_an_error() -> None:
    with (
        worker_pool(2, Backend()) as pool,
        pytest.raises(WorkerError, match=r"\(4, -5\): its worker process was killed"),
    ):
        list(pool.run(jobs.total, [(4, -5)], str, lambda job, _: job))


@pytest.mark.parametrize("without", [None, jobs.without])
def test_a_job_that_lacks_memory_beside_others_is_done_again_alone(tmp_path: Path, without: Any) -> None:
    with worker_pool(2, Backend()) as pool:
        done = list(pool.run(partial(jobs.lack_memory_once, tmp_path / "lacked"), [1, 2, 3, 4], str, without))
    assert sorted(done) == [1, 2, 3, 4]
    assert done[-1] == 2


def test_a_worker_killed_at_different_steps_is_an_error(tmp_path: Path) -> None:
    with worker_pool(2, Backend()) as pool, pytest.raises(WorkerError, match="is there enough memory"):
        list(pool.run(partial(jobs.die_later_each_time, tmp_path / "n"), [0], str, lambda job, step: job))


def allow_starts(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the system start a number of processes, and no more."""
    start = multiprocessing.context.SpawnProcess.start
    started = []

    def start_some(process: multiprocessing.context.SpawnProcess) -> None:
        if len(started) == number:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(process)
        start(process)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", start_some)


@OWN
def test_a_job_that_no_process_can_do_again_is_an_error_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_starts(monkeypatch, 2)
    # The second one takes the place of the first, and the job waits for one that has no others beside it.
    with (
        worker_pool(2, Backend()) as pool,
        pytest.raises(WorkerError, match=r"can be started \(.*\); give fewer --jobs"),
    ):
        list(pool.run(jobs.die, [1], str))


@OWN
def test_a_pool_works_with_the_processes_that_the_system_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_starts(monkeypatch, 1)
    with worker_pool(4, Backend()) as pool:
        assert sorted(pool.run(abs, [-1, -2, -3], str)) == [1, 2, 3]
    with (
        worker_pool(4, Backend()) as pool,
        pytest.raises(WorkerError, match="no worker process can be started.*; give fewer --jobs"),
    ):
        list(pool.run(abs, [-1], str))
    with worker_pool(1, Backend()) as pool:
        assert list(pool.run(abs, [-1], str)) == [1]


def semaphores(*processes: int) -> set[str]:
    """Return the named semaphores that processes have mapped, also those whose names are gone."""
    lines = (line for process in processes for line in Path(f"/proc/{process}/maps").read_text().splitlines())
    return {line.split(maxsplit=5)[5] for line in lines if "/dev/shm/sem." in line}


@OWN
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has mapped is read from /proc")
def test_workers_need_no_shared_memory() -> None:
    before = semaphores(os.getpid())
    with worker_pool(2, Backend()) as pool:
        list(pool.run(abs, [-1, -2], str))
        workers = [process.pid for process in multiprocessing.active_children()]
        assert len(workers) == 2
        assert semaphores(os.getpid(), *workers) == before
    # As those that workers would share.
    lock = multiprocessing.get_context("spawn").Lock()
    assert semaphores(os.getpid()) > before
    del lock
