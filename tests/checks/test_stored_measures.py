"""Measures as columns of the index, added by 'tts-prep add --measures'."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run
from killing import contents
from stores import SAMPLE_RATE, make_rows, write_store

from tts_prep.additions.add_columns import add_index_array
from tts_prep.checks import MEASURES, measure
from tts_prep.checks.measuring import ARRAY, NAMES, measures_spec, measures_table
from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.report.summary import summarise, write_table

AUDIO = {"audio": {"power": 1, "compression": {"log": "ln", "scale": 1.0}}}
LEVELS = (0, 3000, 300, 30, 3000)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of five recordings with known levels: the first is silent, the last a copy of the second."""
    rows = make_rows([100, 120, 140, 160, 120])
    for row, level in zip(rows, LEVELS, strict=True):
        row.waveform = np.rint(level * np.sin(np.arange(len(row.waveform)) * 2 * np.pi * 997 / SAMPLE_RATE))
        row.waveform = row.waveform.astype(np.int16)
    return write_store(tmp_path / "store", rows, waveform=True, configuration=AUDIO)


@pytest.mark.whole
def test_measures_are_columns_that_filters_see(store: Path, capsys) -> None:
    status, out, err = run(capsys, "add", store, "--measures")
    assert (status, err) == (0, "")
    assert out == f"{store}: {len(NAMES)} columns of measures: {', '.join(NAMES)}\n"
    dataset = UtteranceDataset(store)
    # A sine of amplitude a has 20 log10 a - 3.01 LUFS at 997 Hz.
    assert dataset.loudness_lufs[1:3] == pytest.approx(20 * np.log10(np.array([3000, 300]) / 32_768) - 3.01, abs=0.05)
    assert dataset.loudness_lufs[0] == -np.inf
    assert dataset.filter(lambda m: m.loudness_lufs > -35).indices.tolist() == [1, 4]
    assert dataset.audio_copy_of[:].tolist() == [-1, -1, -1, -1, 1]
    assert np.isnan(dataset.pitch_hz).all()
    assert run(capsys, "verify", store)[0] == 0


def test_check_takes_the_stored_measures_and_they_are_those_that_it_measures(store: Path, capsys) -> None:
    measured = measure(UtteranceDataset(store))
    run(capsys, "add", store, "--measures")
    stored = measure(UtteranceDataset(store))
    for name in (one.name for one in MEASURES):
        np.testing.assert_array_equal(stored.columns[name], measured.columns[name])
    for name, rows in measured.partners.items():
        assert stored.partners[name].tolist() == rows.tolist()
    # Another number shows that they are not measured again.
    table = measures_table(measured)
    table[:, NAMES.index("loudness_lufs")] = 7

    def other(manifest: Manifest) -> ArraySpec:
        return replace(measures_spec(manifest), software={"of": "a test"})

    add_index_array(store, other, lambda: table)
    assert measure(UtteranceDataset(store)).columns["loudness"].tolist() == [7] * 5
    assert measure(UtteranceDataset(store)[::-1]).columns["loudness"].tolist() != [7] * 5


def test_a_table_of_all_columns_has_stored_measures_once(store: Path, tmp_path: Path, capsys) -> None:
    write_table(summarise(store), tmp_path / "before.csv")
    run(capsys, "add", store, "--measures")
    write_table(summarise(store), tmp_path / "after.csv")
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()


@pytest.mark.whole
def test_measures_that_are_there_are_not_made_again_and_broken_ones_are(store: Path, capsys) -> None:
    run(capsys, "add", store, "--measures")
    before = contents(store)

    def fail() -> np.ndarray:
        raise AssertionError("measured again")

    add_index_array(store, measures_spec, fail)
    file = store / "arrays" / ARRAY / "00000.h5"
    file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    assert run(capsys, "verify", store)[0] == 1
    run(capsys, "add", store, "--measures")
    assert contents(store) == before


@pytest.mark.whole
def test_the_index_with_measures_can_be_made_again_from_shards_and_arrays(store: Path, capsys) -> None:
    run(capsys, "add", store, "--measures")
    before = contents(store)
    (store / "index.h5").unlink()
    (store / "manifest.json").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert contents(store) == before


def test_a_failure_leaves_the_store_as_it_was(store: Path) -> None:
    before = contents(store)

    def fail() -> np.ndarray:
        raise CorruptStoreError("a broken shard")

    with pytest.raises(CorruptStoreError, match="a broken shard"):
        add_index_array(store, measures_spec, fail)
    taken = ArraySpec("more", "float64", (1,), "utterance", index_columns=("gender",))
    with pytest.raises(StoreError, match="has a column 'gender' from its corpus, which array 'more' needs"):
        add_index_array(store, lambda _: taken, lambda: np.zeros((5, 1)))
    assert contents(store) == before
    assert list(store.parent.iterdir()) == [store]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index_columns": ["a"]}, "one for each number of a row"),
        ({"index_columns": ["a", "a"]}, "two of its index columns have the same name"),
        ({"index_columns": ["a", "id"]}, "cannot have the index column 'id'"),
        ({"index_columns": ["a", "../b"]}, "cannot have the index column '../b'"),
        ({"index_columns": ["a", 3]}, "expected a list of texts"),
        ({"axis": "frame"}, "one for each number of a row"),
        ({"dtype": "float32"}, "one for each number of a row"),
    ],
)
def test_index_columns_that_no_store_can_have_are_refused(change: dict[str, object], message: str) -> None:
    spec = ArraySpec("measures", "float64", (2,), "utterance", index_columns=("a", "b"))
    assert ArraySpec.from_dict("here", "measures", spec.as_dict()) == spec
    with pytest.raises(CorruptStoreError, match=message):
        ArraySpec.from_dict("here", "measures", {**spec.as_dict(), **change})
