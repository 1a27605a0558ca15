"""A folder with a small store, for servers to serve."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import Row, make_rows, write_store


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return make_rows(range(20, 44))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    folder = tmp_path_factory.mktemp("served")
    write_store(folder / "voice", rows, n_shards=4, waveform=True)
    return folder
