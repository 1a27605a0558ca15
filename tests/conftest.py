"""Small corpora, synthesised: no test needs a download."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from corpora import write_ljspeech
from hypothesis import settings

# The tests run in parallel: torch's small models lose more to waiting for each other's threads than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Speed is measured by benchmarks; a busy machine fails no test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a corpus that no test may change."""
    return write_ljspeech(tmp_path_factory.mktemp("corpus") / "lj")


@pytest.fixture
def own_corpus(tmp_path: Path) -> Path:
    """Return the root of a corpus that the test may break."""
    return write_ljspeech(tmp_path / "lj")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return a whole store of the shared corpus, in shards of three, that no test may change."""
    from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
    from tts_prep.preprocess.corpora import read_ljspeech
    from tts_prep.preprocess.runs.prepare import prepare

    path = tmp_path_factory.mktemp("stores") / "store"
    prepare(read_ljspeech(corpus), corpus, path, Configuration(store=StoreConfig(shard_utterances=3)))
    return path


@pytest.fixture(autouse=True)
def no_progress_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the lines that a slow run prints now and then out of what tests compare: a busy machine is no fault."""
    monkeypatch.setattr("tts_prep.cli.progress._PLAIN_INTERVAL", float("inf"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what this environment lacks."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped if report.longrepr}
    if reasons:
        terminalreporter.write_line(f"Not tested here: {'; '.join(sorted(reasons))}. See 'make install-optional'.")
