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
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, DRIVER, Browser
from corpora import write_ljspeech
from forked_tests import INTERPRETER, PATHS, Server
from forked_workers import ForkedWorkers
from hypothesis import HealthCheck, settings
from shared_process import SharedProcess, child_process

pytest_plugins = ["environments", "left_out"]

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return half as many test workers again as processors: tests wait for servers, browsers, and one another.

    None leaves it to pytest-xdist, which reads the variable that says how many.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + (processors + 1) // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Let test workers be forked from one process that has collected the tests, if the system can do it."""
    own = [spec for spec in specs if spec.popen and not spec.python]
    if sys.platform != "linux" or not own:
        return
    folder = tempfile.TemporaryDirectory()
    config.add_cleanup(folder.cleanup)
    server = Server(Path(folder.name), [*config.invocation_params.args])
    config.add_cleanup(server.close)
    if server.wait():
        for spec in own:
            spec.python = server.interpreter
        os.environ[INTERPRETER] = server.interpreter
        config.add_cleanup(lambda: os.environ.pop(INTERPRETER))


def pytest_configure() -> None:
    """Find what tests have found where they were collected, if that was in the process that this one is a fork of."""
    sys.path.extend(path for path in PATHS if path not in sys.path)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is imported for all tests to no collection of garbage, each of which would look at all of it.

    Collections are rarer, too.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(50_000, 10, 20)
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

COMPILER_LOCK = "compiler-lock"
OWN_WORKERS = pytest.StashKey[Any]()

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


@pytest.fixture(scope="session")
def few_spoken(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a read-only corpus of the first utterances of the demo corpus: speech, a minute of it."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "wavs").symlink_to(demo_corpus / "wavs")
    lines = (demo_corpus / "metadata.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "metadata.csv").write_text("".join(lines[:14]), "utf-8")
    return folder


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
def browser() -> Iterator[Browser]:
    """Yield a browser, which takes seconds to start."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("no Chromium or chromedriver")
    with closing(Browser()) as found:
        yield found


@pytest.fixture(scope="session")
def compiler_lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the lock that a test worker holds while it compiles."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / COMPILER_LOCK


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Let tests share a process that reads HDF5 files, let worker processes start in no time, and compile in turn.

    A fixture of all tests would be looked up by each of them.
    """
    if session.config.option.collectonly or session.config.pluginmanager.has_plugin("dsession"):
        return (yield)
    from tts_prep.cli import output
    from tts_prep.format.files import child_process
    from tts_prep.preprocess.workers import processes

    if "PYTEST_XDIST_WORKER" in os.environ and "numba" in sys.modules:
        from one_compiler import OneCompiler

        OneCompiler(Path(session.config.option.basetemp).parent / COMPILER_LOCK).register()
    with SharedProcess() as shared, pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_process, "child_process", shared.lend)
        session.config.stash[OWN_WORKERS] = processes._SPAWN
        if FORKED_WORKERS:
            patch.setattr(processes, "_SPAWN", FORKED_WORKERS)
        # The periodic lines of slow runs, which would differ on busy machines.
        patch.setattr(output, "_PLAIN_INTERVAL", float("inf"))
        return (yield)


@pytest.fixture
def own_hdf5_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test start processes that read HDF5 files, which other tests share."""
    monkeypatch.setattr("tts_prep.format.files.child_process.child_process", child_process)


@pytest.fixture
def own_workers(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Let a test start worker processes as the program does, which other tests fork from one process."""
    monkeypatch.setattr("tts_prep.preprocess.workers.processes._SPAWN", pytestconfig.stash[OWN_WORKERS])
