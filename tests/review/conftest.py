from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from reviewing import Review, Serve, example_rows
from stores import Row, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.review.decisions import DecisionFile
from tts_prep.review.pages import Pages
from tts_prep.review.server import ReviewServer
from tts_prep.review.sounds import Sounds


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that serves a store of given rows, with decisions in ``decisions.csv``."""
    with ExitStack() as stack:

        def served(rows: list[Row] | None = None, *, waveform: bool = True, store: Path | None = None) -> Review:
            rows = rows or example_rows()
            path = store or tmp_path / "store"
            if not path.exists():
                write_store(path, rows, waveform=waveform)
            dataset = UtteranceDataset(path)
            sounds = Sounds(dataset)
            stack.callback(sounds.close)
            decisions = stack.enter_context(DecisionFile(tmp_path / "decisions.csv"))
            pages = Pages(dataset, decisions, sounds)
            pages.measure()
            server = stack.enter_context(ReviewServer(pages))
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return Review(server, rows)

        yield served
