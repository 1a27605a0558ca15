"""Batches of a store whose columns are added and removed by another process at the same time."""

import multiprocessing
import time

import numpy as np
import pytest
from stores import make_rows, write_store

import tts_prep.preprocess
from tts_prep.errors import StoreError
from tts_prep.loader import DataLoader, UtteranceDataset, collate

ROWS = make_rows([7, 3, 9, 4, 5, 11, 20, 6] * 4)
for number, row in enumerate(ROWS):
    row.id = f"row-{number}"
IDS = [row.id for row in ROWS]
REPLACED = (
    "the store was replaced since it was opened; open it again|removed since the store was opened|cannot be opened"
)


def change(path, ready, ended, changes):
    """Add and remove columns until there is an end."""
    while not ended.is_set():
        tts_prep.preprocess.add_columns(
            path, {"id": IDS, "wer": [float(number) for number in range(len(IDS))], "note": ["n" * 300] * len(IDS)}
        )
        ready.set()
        tts_prep.preprocess.remove_columns(path, ["wer", "note"])
        changes.value += 1


@pytest.fixture
def changing(tmp_path):
    """Yield a store that another process changes, and how often it did."""
    path = write_store(tmp_path / "store", ROWS, n_shards=8, waveform=True)
    context = multiprocessing.get_context("forkserver")
    ready, ended, changes = context.Event(), context.Event(), context.Value("q", 0)
    process = context.Process(target=change, args=(path, ready, ended, changes))
    process.start()
    try:
        assert ready.wait(60)
        yield path, changes
    finally:
        ended.set()
        process.join(60)
    # No reader lets a change fail.
    assert process.exitcode == 0


def check(batch):
    """Check every value of a batch against the rows that the store was made of."""
    for i, name in enumerate(batch["id"]):
        row = ROWS[IDS.index(name)]
        np.testing.assert_array_equal(batch["mel"][i][: len(row.mel)], row.mel)
        np.testing.assert_array_equal(batch["phonemes"][i][: len(row.phonemes)], row.phonemes)
        assert batch["text"][i] == row.text


def opened(path):
    """Open a store as a user does who is told to open it again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            dataset = UtteranceDataset(path)
            assert list(dataset.id) == IDS
            return dataset
        except StoreError as error:
            assert time.monotonic() < deadline, error


def torch_loader(dataset):
    data = pytest.importorskip("torch.utils.data")
    return data.DataLoader(dataset, 4, shuffle=True, collate_fn=Columns(), num_workers=2)


class Columns:
    """Makes batches with the ids and texts of the utterances."""

    def __call__(self, utterances):
        texts = {"id": [u.id for u in utterances], "text": [u.text for u in utterances]}
        batch = collate(utterances)
        return {**texts, "mel": np.asarray(batch.mel), "phonemes": np.asarray(batch.phonemes)}


def own_loader(dataset):
    return DataLoader(dataset, 4, shuffle=True, collate_fn=Columns(), prefetch=2)


def plain_loader(dataset):
    return DataLoader(dataset, 4, shuffle=True, collate_fn=Columns(), prefetch=0)


SOAK = pytest.mark.soak


@pytest.mark.whole
@pytest.mark.parametrize(
    "make", [own_loader, pytest.param(plain_loader, marks=SOAK), pytest.param(torch_loader, marks=SOAK)]
)
def test_every_batch_of_a_store_that_changes_is_right_or_there_is_a_clear_error(changing, make):
    path, changes = changing
    n_batches = n_errors = 0
    deadline, wanted = time.monotonic() + 60, changes.value + 2
    while (changes.value < wanted or not n_batches or not n_errors) and time.monotonic() < deadline:
        try:
            for batch in make(opened(path)):
                check(batch)
                n_batches += 1
                # As long as a step of training takes, in which the store changes.
                time.sleep(0.005)
        except StoreError as error:
            n_errors += 1
            assert any(text in str(error) for text in REPLACED.split("|")), error
    assert changes.value >= wanted
    assert n_batches
    assert n_errors
