"""Runs with a real Dask scheduler and workers as separate processes, over loopback."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from commands import LIGHT, light
from corpora import TEXTS, write_ljspeech
from forked_tests import forked_python
from joblib import register_parallel_backend
from joblib.parallel import ThreadingBackend
from killing import contents

from tts_prep.errors import ConfigurationError, WorkerError
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.workers.pool import Backend

# Not imported for that, which takes a second in every test worker.
pytestmark = pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="needs distributed")

SMALL = Configuration(store=StoreConfig(shard_utterances=3))


class Cluster:
    """A scheduler and workers as processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []
        scheduler = self.start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        assert scheduler.stderr is not None
        for line in scheduler.stderr:
            if found := re.search(r"tcp://127\.0\.0\.1:\d+", line):
                self.address = found[0]
                break
        # Nobody reads on: a full pipe would stop the scheduler.
        self.reader = threading.Thread(target=scheduler.stderr.read, daemon=True)
        self.reader.start()
        self.workers = [self.worker(number) for number in range(2)]

    def start(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if "scheduler" in module else subprocess.DEVNULL,
            text=True,
            cwd=self.folder,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self.processes.append(process)
        return process

    def worker(self, number: int) -> subprocess.Popen[str]:
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", str(self.folder))
        return self.start("distributed.cli.dask_worker", self.address, *options, "--name", f"worker-{number}")

    def stop(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stderr:
                self.reader.join()
                process.stderr.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield a cluster of two workers, of which one test kills one."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_dask_cluster_make_the_same_bytes(
    cluster: Cluster, corpus: Path, store: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    command = [*forked_python(), "-m", "tts_prep", "ljspeech", str(corpus), str(made), "--shard-utterances", "3"]
    done = subprocess.run(
        [*command, "--backend", "dask", "--scheduler", cluster.address], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert contents(made) == contents(store)


def test_a_backend_of_joblib_without_generators_makes_the_same_bytes(tmp_path: Path) -> None:
    # As Ray's. With 2 workers, the 12 shards are two rounds.
    corpus = write_ljspeech(tmp_path / "corpus", (TEXTS * 12)[:12])
    prepare(read_ljspeech(corpus), corpus, tmp_path / "alone", light(1))
    command = [*forked_python(), "-m", "tts_prep", "ljspeech", str(corpus), str(tmp_path / "made")]
    options = [*LIGHT, "--shard-utterances", "1", "--backend", "multiprocessing", "--jobs", "2"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "made") == contents(tmp_path / "alone")


@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    large = write_ljspeech(tmp_path / "large", TEXTS * 5)
    prepare(read_ljspeech(large), large, tmp_path / "alone", SMALL)

    ended = threading.Event()

    def kill_one() -> None:
        while not list((tmp_path / "made").glob("shards/*.h5")) and not ended.wait(0.005):
            pass
        cluster.workers[0].kill()

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    try:
        prepare(read_ljspeech(large), large, tmp_path / "made", SMALL, backend=Backend("dask", cluster.address))
    finally:
        ended.set()
        killer.join()
    assert cluster.workers[0].wait(60) == -signal.SIGKILL
    assert contents(tmp_path / "made") == contents(tmp_path / "alone")


@pytest.mark.filterwarnings("ignore")
def test_a_fault_of_the_corpus_is_the_same_error_as_on_one_machine(cluster: Cluster, own_corpus: Path) -> None:
    # The recording changes after planning: found by the worker, raised here.
    def items() -> Iterator[object]:
        yield from read_ljspeech(own_corpus)

    (own_corpus / "wavs/S-0003.wav").write_bytes(b"")
    with pytest.raises(Exception, match=r"1 of 7 rows failed so far, more than --max-failures 0 allows"):
        prepare(
            items(),  # type: ignore[arg-type]
            own_corpus,
            own_corpus / "store",
            SMALL,
            backend=Backend("dask", cluster.address),
            max_failures=0,
        )


def test_a_backend_that_joblib_does_not_know_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="joblib has none named 'abacus'"):
        prepare(read_ljspeech(corpus), corpus, tmp_path / "store", SMALL, backend=Backend("abacus"))


def test_a_backend_registered_with_joblib_is_used_by_its_name(corpus: Path, store: Path, tmp_path: Path) -> None:
    # "threading" is one of joblib's own: espeak-ng's global state must not be hurt by it.
    prepare(read_ljspeech(corpus), corpus, tmp_path / "store", SMALL, jobs=3, backend=Backend("threading"))
    assert contents(tmp_path / "store") == contents(store)


class FailingBackend(ThreadingBackend):
    """A backend that loses its connection after some tasks, as often as there are numbers of them."""

    left: ClassVar[list[int]] = []

    def submit(self, func: Any, callback: Any = None) -> Any:
        if self.left:
            if not self.left[0]:
                self.left.pop()
                raise ConnectionResetError("the connection was lost")
            self.left[0] -= 1
        return super().submit(func, callback)

    apply_async = submit


def test_a_run_whose_backend_fails_is_resumed_by_the_same_command(corpus: Path, store: Path, tmp_path: Path) -> None:
    register_parallel_backend("failing", FailingBackend)
    FailingBackend.left.append(1)

    def make() -> None:
        prepare(read_ljspeech(corpus), corpus, tmp_path / "store", SMALL, jobs=2, backend=Backend("failing"))

    with pytest.raises(WorkerError, match="backend failing: ConnectionResetError: .* run again to resume"):
        make()
    make()
    assert contents(tmp_path / "store") == contents(store)


def test_a_scheduler_that_is_not_there_is_an_error(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.cluster._CONNECT_SECONDS", 1)
    with pytest.raises(WorkerError, match="no Dask scheduler answers there within 1 s"):
        prepare(read_ljspeech(corpus), corpus, tmp_path / "store", SMALL, backend=Backend("dask", "tcp://127.0.0.1:1"))


def test_a_scheduler_without_the_backend_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="requires the backend 'dask'"):
        Backend("loky", "tcp://127.0.0.1:8786")
