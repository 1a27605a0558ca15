"""Readahead hints: harmless, and only if data is read from disk."""

import itertools

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep.loader import DataLoader, UtteranceDataset, prefetch
from tts_prep.loader.prefetch import ReadingAhead, ask_for, disk_reads


@pytest.fixture
def dataset(tmp_path):
    return UtteranceDataset(write_store(tmp_path / "s", make_rows([700, 30, 900, 4, 500, 11] * 5), n_shards=3))


def test_any_view_can_be_asked_for(dataset):
    for view in [*dataset.views("mel"), *dataset.views("phonemes"), np.ones(100_000), np.empty(0)]:
        ask_for(view)
    dataset.read_ahead([0, 29, 3])


def test_what_the_disk_read_is_counted_up():
    assert 0 <= disk_reads() <= disk_reads()


def hints(monkeypatch, n_batches, reading):
    """Make batches, of which some are read from disk; return the hints before each."""
    reads = 0
    asked = []

    def make(positions):
        nonlocal reads
        reads += positions in reading
        asked.append([])
        return -positions

    monkeypatch.setattr(prefetch, "disk_reads", lambda: reads)
    asked.append([])
    ahead = ReadingAhead(make, lambda positions: asked[-1].append(positions))
    assert [ahead.make(task) for task in ahead.tasks(range(n_batches))] == [-i for i in range(n_batches)]
    return asked


def test_once_the_disk_reads_the_next_batches_are_asked_for_and_then_one_more_each_time(monkeypatch):
    asked = hints(monkeypatch, 30, reading=range(30))
    assert asked[:3] == [[], list(range(2, 10)), [10]]
    assert [i for batch in asked for i in batch] == list(range(2, 30))


def test_hints_end_eight_batches_after_the_last_that_made_the_disk_read(monkeypatch):
    asked = hints(monkeypatch, 40, reading=[0, 30])
    assert [i for batch in asked[:30] for i in batch] == list(range(2, 17))
    assert [i for batch in asked[30:] for i in batch] == list(range(32, 40))


def test_hints_that_make_the_disk_read_are_followed_by_more(monkeypatch):
    reads = 0

    def read(_):
        nonlocal reads
        reads += 1

    monkeypatch.setattr(prefetch, "disk_reads", lambda: reads)
    ahead = ReadingAhead(lambda positions: read(positions) if positions == 0 else None, read)
    for task in ahead.tasks(range(50)):
        ahead.make(task)
    assert reads == 1 + 48


def test_a_loader_of_a_store_asks_for_later_batches(dataset, monkeypatch):
    counter = itertools.count()
    monkeypatch.setattr(prefetch, "disk_reads", lambda: next(counter))
    asked = []
    monkeypatch.setattr(UtteranceDataset, "read_ahead", lambda self, positions: asked.append(list(positions)))
    batches = [batch.indices.tolist() for batch in DataLoader(dataset, 2)]
    assert batches == [[i, i + 1] for i in range(0, 30, 2)]
    assert batches[-1] in asked
    assert all(batch in batches[1:] for batch in asked)


def test_nothing_is_asked_for_while_memory_has_it(dataset, monkeypatch):
    monkeypatch.setattr(prefetch, "disk_reads", lambda: 7)
    monkeypatch.setattr(UtteranceDataset, "read_ahead", lambda self, positions: pytest.fail("asked for"))
    assert len(list(DataLoader(dataset, 2))) == 15
