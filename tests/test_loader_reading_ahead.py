"""Hints about what will be read: harmless, within the map, and only where the disk had to be waited for."""

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep.loader import DataLoader, UtteranceDataset, dataloader
from tts_prep.loader.reading_ahead import ask_for, disk_waits


@pytest.fixture
def dataset(tmp_path):
    return UtteranceDataset(write_store(tmp_path / "s", make_rows([700, 30, 900, 4, 500, 11] * 5), n_shards=3))


def test_any_view_can_be_asked_for(dataset):
    for view in [*dataset.views("mel"), *dataset.views("phonemes"), np.ones(4), np.empty(0)]:
        ask_for(view)
    dataset.read_ahead([0, 29, 3])


def test_waits_are_counted_up():
    assert 0 <= disk_waits() <= disk_waits()


def test_later_batches_are_asked_for_once_the_disk_was_waited_for(dataset, monkeypatch):
    waits = iter(range(1000))
    monkeypatch.setattr(dataloader, "disk_waits", lambda: next(waits))
    asked = []
    monkeypatch.setattr(UtteranceDataset, "read_ahead", lambda self, positions: asked.append(list(positions)))
    batches = [batch.indices.tolist() for batch in DataLoader(dataset, 2, threads=1)]
    assert batches == [[i, i + 1] for i in range(0, 30, 2)]
    # From the second on, each asks for what comes eight batches later, as long as there is such a one.
    assert asked == batches[9:]


def test_nothing_is_asked_for_while_memory_has_it(dataset, monkeypatch):
    monkeypatch.setattr(dataloader, "disk_waits", lambda: 7)
    monkeypatch.setattr(UtteranceDataset, "read_ahead", lambda self, positions: pytest.fail("asked for"))
    assert len(list(DataLoader(dataset, 2))) == 15
