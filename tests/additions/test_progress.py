"""The progress of commands on a complete store: one record, also for an array that a function computes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Progress, ProgressBar, add_columns


def test_a_bar_shows_each_count_until_its_total(capfd: pytest.CaptureFixture[str]) -> None:
    show = ProgressBar()
    for now in (Progress(0, 3), Progress(2, 3, step="reading"), Progress(3, 3), Progress(1, 2, unit="shards")):
        show(now)
    shown = capfd.readouterr().err
    assert re.search(r"2/3 .*reading", shown)
    assert "3/3" in shown
    assert "/2 [" in shown


@pytest.mark.whole
def test_steps_of_columns_and_measures_are_counted_in_utterances(tmp_path: Path) -> None:
    from tts_prep.checks import measure

    store = write_store(tmp_path / "s", make_rows([7, 3, 9]), waveform=True)
    seen: list[Progress] = []
    measure(UtteranceDataset(store), progress=seen.append)
    assert {(now.step, now.total, now.unit) for now in seen} == {
        ("loading the measures, or compiling them", 3, "utterances"),
        ("measuring", 3, "utterances"),
        ("comparing", 3, "utterances"),
    }
    seen.clear()
    add_columns(store, {"id": UtteranceDataset(store).id, "mos": np.arange(3.0)}, progress=seen.append)
    assert seen[-1] == Progress(3, 3, step="writing the index")
