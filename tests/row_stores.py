"""Fixtures: a store written without a corpus, for the tests of what reads stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import Row, make_rows, write_store

from tts_prep.loader import UtteranceDataset


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """Return the rows of a store, with the numbers of frames in N_FRAMES of the test's module."""
    return make_rows(request.module.N_FRAMES)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    """Return a read-only store of these rows."""
    return write_store(tmp_path_factory.mktemp("store") / "s", rows, n_shards=2, waveform=True)


@pytest.fixture
def dataset(store: Path) -> UtteranceDataset:
    """Return the opened store."""
    return UtteranceDataset(store)
