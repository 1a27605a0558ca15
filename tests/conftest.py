"""Fixtures: small synthetic corpora and stores, so that no test needs a download."""

from __future__ import annotations

import os

# Test workers and the commands that tests start share the processors: one thread each. NumPy reads this as it is
# imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import fcntl
import gc
import re
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from corpora import write_ljspeech
from forked_workers import ForkedWorkers
from hypothesis import HealthCheck, settings
from shared_process import SharedProcess

pytest_plugins = ["left_out"]

# Modules are compiled once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts background jobs with SIGINT ignored, and nohup ignores SIGHUP; the commands that tests interrupt would
# inherit that.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Speed is measured by benchmarks; a busy machine fails no test. The examples of properties are the same ones in every
# run, so that a change is what fails a test; 'make soak' tries thousands of others.
_PROPERTIES = int(os.environ.get("PROPERTIES", "0"))
settings.register_profile(
    "ours",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not _PROPERTIES,
    max_examples=_PROPERTIES or 50,
)
settings.load_profile("ours")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is imported for all tests to no collection of garbage, each of which would look at all of it."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the slowest tests come first, so that no test worker is alone with one at the end."""
    guide = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    slowest = tuple(re.findall(r"^\| `(\w+/test_\w+\.py)`", guide, re.MULTILINE))
    items.sort(key=lambda item: not item.path.as_posix().endswith(slowest))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let one test worker at a time compile librosa, if a selected test uses it."""
    if any("librosa" in path.read_text(encoding="utf-8") for path in {item.path for item in session.items}):
        from tts_prep.compiler import import_librosa

        import_librosa()


try:
    FORKED_WORKERS: ForkedWorkers | None = ForkedWorkers()
except (OSError, ValueError):  # a temporary folder whose name is too long for a socket, or a system without forks
    FORKED_WORKERS = None

MakeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MakeOnce:
    """Return a function of a name and a function that fills a folder, which is called once for all test workers.

    For what takes a second or more to make, and no test changes.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = shared / f"once-{name}", shared / f"once-{name}-done"
        with (shared / f"once-{name}-lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def corpus(made_once: MakeOnce) -> Path:
    """Return the root of a read-only corpus."""
    return made_once("corpus", write_ljspeech)


@pytest.fixture(scope="session")
def demo_corpus(made_once: MakeOnce) -> Path:
    """Return the root of the read-only demo corpus: three minutes, synthesized by espeak-ng."""
    from tts_prep.demo.corpus import make_demo_corpus

    return made_once("demo-corpus", make_demo_corpus)


@pytest.fixture
def own_corpus(tmp_path: Path) -> Path:
    """Return the root of a corpus that the test may change."""
    return write_ljspeech(tmp_path / "lj")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return a read-only complete store of the shared corpus, in shards of three."""
    from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
    from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
    from tts_prep.preprocess.run import prepare

    path = tmp_path_factory.mktemp("stores") / "store"
    prepare(read_ljspeech(corpus), corpus, path, Configuration(store=StoreConfig(shard_utterances=3)))
    return path


@pytest.fixture(scope="session")
def hdf5_process() -> Iterator[SharedProcess]:
    """Yield the process that reads HDF5 files for the tests of this test worker."""
    with SharedProcess() as shared:
        yield shared


@pytest.fixture(autouse=True)
def shared_hdf5_process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, hdf5_process: SharedProcess
) -> None:
    """Let tests share a process that reads HDF5 files, but for those with the mark ``own_hdf5_process``."""
    if not request.node.get_closest_marker("own_hdf5_process"):
        monkeypatch.setattr("tts_prep.format.hdf5.process.child_process", hdf5_process.lend)


@pytest.fixture(autouse=True)
def workers_are_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let worker processes start in no time, but for tests with the mark ``own_workers``."""
    if FORKED_WORKERS and not request.node.get_closest_marker("own_workers"):
        monkeypatch.setattr("tts_prep.preprocess.workers.processes._SPAWN", FORKED_WORKERS)


@pytest.fixture(autouse=True)
def no_progress_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the periodic lines of slow runs, which would differ on busy machines."""
    monkeypatch.setattr("tts_prep.cli.progress._PLAIN_INTERVAL", float("inf"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report in one line what this environment lacks."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped if report.longrepr}
    if reasons:
        terminalreporter.write_line(
            f"Not tested here: {'; '.join(sorted(reasons))}. See 'make test-optional', 'make test-frameworks'."
        )
