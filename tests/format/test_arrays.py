"""Added arrays are written, added to a store, read by name, and refused if they do not match."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest
from stores import Row, make_rows, of_room, write_store

from tts_prep.errors import ConfigurationError, CorruptStoreError, FeatureError
from tts_prep.format.contents.array_file import array_key, checked_values
from tts_prep.format.contents.array_writer import ShardRows, write_array_file
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.records.store_plan import write_plan
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset

verify_store = of_room("verification.files", "verify_store")

N_FRAMES = [7, 3, 9, 4, 5]
KEYS = ["key 0", "key 1"]
SPECS = {
    spec.name: spec
    for spec in (
        ArraySpec(
            "pitch", "float32", (), "frame", settings={"method": "dio", "floor": 71.0}, software={"pyworld": "1"}
        ),
        ArraySpec("spectrogram", "float16", (3,), "frame"),
        ArraySpec("durations", "int32", (), "phoneme"),
        ArraySpec("noise", "int16", (), "sample"),
        ArraySpec("speaker_vector", "float32", (4,), "utterance"),
        ArraySpec("tokens", "int16", (2,), "own", rate=50.0),
    )
}


def values_of(spec: ArraySpec, row: Row, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n = {"frame": len(row.mel), "phoneme": len(row.phonemes), "sample": len(row.waveform), "own": 2 + seed}
    shape = spec.row_shape if spec.axis == "utterance" else (n[spec.axis], *spec.row_shape)
    return (100 * rng.normal(size=shape)).astype(spec.dtype)


def shard_rows(number: int, rows: Sequence[Row]) -> ShardRows:
    arrays = {"frame": "mel", "phoneme": "phonemes", "sample": "waveform"}
    lengths = {axis: [len(getattr(row, name)) for row in rows] for axis, name in arrays.items()}
    return ShardRows(number, KEYS[number], [row.speaker for row in rows], lengths)


def add(store: Path, rows: Sequence[Row], specs: Sequence[ArraySpec]) -> None:
    """Add arrays to a store of two shards, as a command does."""
    for spec in specs:
        for number, part in enumerate(np.array_split(np.arange(len(rows)), 2)):
            write_array_file(
                store,
                spec,
                shard_rows(number, [rows[i] for i in part]),
                array_key(spec, KEYS[number]),
                [values_of(spec, rows[i], int(i)) for i in part],
            )
    write_plan(store, KEYS, [spec.name for spec in specs])
    reindex_store(store)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return make_rows(N_FRAMES)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    """Return a read-only store with an array of every axis."""
    store = write_store(tmp_path_factory.mktemp("arrays") / "s", rows, waveform=True)
    add(store, rows, list(SPECS.values()))
    return store


@pytest.fixture
def store(shared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shared, tmp_path / "s"))


@pytest.mark.parametrize("name", SPECS)
def test_every_utterance_gives_back_the_rows_that_were_written(shared: Path, rows: list[Row], name: str) -> None:
    dataset = UtteranceDataset(shared)
    for i, (utterance, row) in enumerate(zip(dataset, rows, strict=True)):
        expected = values_of(SPECS[name], row, i)
        np.testing.assert_array_equal(utterance.arrays[name], expected)
        assert utterance.arrays[name].dtype == SPECS[name].dtype
        assert not utterance.arrays[name].flags.writeable
    chosen = dataset[[4, 0]]
    for view, i in zip(chosen.views(name), (4, 0), strict=True):
        np.testing.assert_array_equal(view, values_of(SPECS[name], rows[i], i))


def test_the_arrays_of_the_shards_are_arrays_like_the_others(shared: Path, rows: list[Row]) -> None:
    dataset = UtteranceDataset(shared)
    assert list(dataset.arrays) == ["mel", "phonemes", "waveform", *sorted(SPECS)]
    assert dataset.arrays["mel"].axis == "frame"
    assert dataset.arrays["pitch"] == SPECS["pitch"]
    np.testing.assert_array_equal(dataset[3].arrays["mel"], rows[3].mel)
    assert dataset.n_tokens.tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", ["pitch", "spectrogram"])
def test_statistics_are_those_of_all_rows_and_of_each_speaker(shared: Path, rows: list[Row], name: str) -> None:
    dataset = UtteranceDataset(shared)
    found = dataset.statistics(name)
    values = np.concatenate([values_of(SPECS[name], row, i) for i, row in enumerate(rows)]).astype(float)
    assert found.count == len(values)
    for key in ("mean", "std", "min", "max"):
        np.testing.assert_allclose(getattr(found, key), getattr(values, key)(axis=0), rtol=1e-12)
    for code, speaker in enumerate(dataset.speakers):
        own = [values_of(SPECS[name], row, i) for i, row in enumerate(rows) if row.speaker == speaker]
        own = np.concatenate(own).astype(float)
        assert found.speaker_count[code] == len(own)
        for key in ("mean", "std", "min", "max"):
            np.testing.assert_allclose(getattr(found, f"speaker_{key}")[code], getattr(own, key)(axis=0), rtol=1e-12)


def test_statistics_count_the_rows_that_are_to_be_counted(tmp_path: Path, rows: list[Row]) -> None:
    store = write_store(tmp_path / "s", rows)
    voiced = [values_of(SPECS["pitch"], row, i) > 0 for i, row in enumerate(rows)]
    for number, part in enumerate(np.array_split(np.arange(len(rows)), 2)):
        write_array_file(
            store,
            SPECS["pitch"],
            shard_rows(number, [rows[i] for i in part]),
            "key",
            [values_of(SPECS["pitch"], rows[i], int(i)) for i in part],
            counted=[voiced[i] for i in part],
        )
    write_plan(store, KEYS, ["pitch"])
    reindex_store(store)
    expected = np.concatenate([values_of(SPECS["pitch"], row, i)[voiced[i]] for i, row in enumerate(rows)])
    found = UtteranceDataset(store).statistics("pitch")
    assert found.count == len(expected) < sum(N_FRAMES)
    np.testing.assert_allclose(found.mean, expected.astype(float).mean(), rtol=1e-12)
    assert found.min > 0


def test_adding_an_array_changes_no_shard_and_adding_again_no_byte(tmp_path: Path, rows: list[Row]) -> None:
    store = write_store(tmp_path / "s", rows, waveform=True)
    shards = {path.name: path.read_bytes() for path in (store / "shards").iterdir()}
    add(store, rows, [SPECS["pitch"]])
    once = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    assert shards == {path.name: path.read_bytes() for path in (store / "shards").iterdir()}
    add(store, rows, [SPECS["pitch"]])
    assert once == {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def test_any_hdf5_tool_reads_an_array_file(shared: Path, rows: list[Row]) -> None:
    with h5py.File(shared / "arrays/tokens/00001.h5") as file:
        assert file["tokens"].shape == (5 + 6, 2)
        assert file["columns/start"][:].tolist() == [0, 5]
        assert file["columns/length"][:].tolist() == [5, 6]
        assert file["tokens"].id.get_offset() % 4096 == 0


def test_settings_of_arrays_stand_in_the_manifest_and_change_the_fingerprint(shared: Path, rows: list[Row]) -> None:
    manifest = read_manifest(shared)
    assert manifest.arrays["pitch"]["settings"] == {"method": "dio", "floor": 71.0}
    assert manifest.arrays["pitch"]["software"] == {"pyworld": "1"}
    assert [entry.file for entry in manifest.array_files["pitch"]] == ["arrays/pitch/00000.h5", "arrays/pitch/00001.h5"]
    other = ArraySpec("pitch", "float32", (), "frame", settings={"method": "harvest"})
    assert array_key(other, KEYS[0]) != array_key(SPECS["pitch"], KEYS[0]) != array_key(SPECS["pitch"], KEYS[1])


@pytest.mark.parametrize(
    ("spec", "values", "length", "message"),
    [
        ("pitch", np.zeros(4), 4, "expected float32, found float64"),
        ("pitch", np.zeros(3, "f4"), 4, r"expected the shape \[4\], found \[3\]"),
        ("pitch", np.array([0, np.nan, np.inf], "f4"), 3, "2 values are not finite"),
        ("spectrogram", np.zeros((4, 2), "f2"), 4, r"expected the shape \[4, 3\], found \[4, 2\]"),
        ("spectrogram", np.array([[0, 0, np.inf]], "f2"), 1, "1 values are not finite"),
        ("speaker_vector", np.zeros((1, 4), "f4"), None, r"expected the shape \[4\], found \[1, 4\]"),
        ("tokens", np.zeros(4, "i2"), None, r"expected the shape \[rows, 2\], found \[4\]"),
        ("durations", np.float32(0), 1, "expected int32, found float32"),
    ],
)
def test_values_that_an_array_cannot_hold_are_refused(
    spec: str, values: np.ndarray, length: int | None, message: str
) -> None:
    with pytest.raises(FeatureError, match=message):
        checked_values(SPECS[spec], values, length)


@pytest.mark.parametrize(
    "spec",
    [
        ArraySpec("mel", "float32", (5,), "frame"),
        ArraySpec("Pitch", "float32", (), "frame"),
        ArraySpec("../x", "float32", (), "frame"),
        ArraySpec("header", "float32", (), "frame"),
        ArraySpec("n_frames", "float32", (), "frame"),
        ArraySpec("x", "object", (), "frame"),
        ArraySpec("x", "float32", (), "bars"),
        ArraySpec("x", "float32", (0,), "frame"),
        ArraySpec("x", "float32", (), "frame", rate=50.0),
        ArraySpec("x", "float32", (), "own", rate=-1.0),
    ],
)
def test_a_spec_that_no_store_can_have_is_refused(spec: ArraySpec) -> None:
    with pytest.raises(ConfigurationError, match=f"array '{spec.name}'"):
        spec.checked()


def test_every_file_of_a_store_with_arrays_is_verified(store: Path) -> None:
    assert not [fault for _, fault in verify_store(store) if fault]
    files = [entry.file for entry, _ in verify_store(store)]
    assert {"arrays/tokens/00001.h5", "plan.json", "shards/00000.h5"} <= set(files)
    path = store / "arrays/pitch/00001.h5"
    data = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = file["pitch"].id.get_offset()
    data[place + 1] ^= 1
    path.write_bytes(data)
    faults = {entry.file: fault for entry, fault in verify_store(store) if fault}
    assert list(faults) == ["arrays/pitch/00001.h5"]
    assert "'pitch' does not match the checksums in the file" in faults["arrays/pitch/00001.h5"]


def test_the_manifest_of_a_store_with_arrays_can_be_made_again(store: Path) -> None:
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    for name in ("manifest.json", "index.h5", "failures.jsonl"):
        (store / name).unlink()
    reindex_store(store)
    assert before == {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def _exchange(store: Path) -> None:
    shutil.copy(store / "arrays/pitch/00000.h5", store / "arrays/pitch/00001.h5")


def _of_another(store: Path) -> None:
    shutil.copy(store / "arrays/spectrogram/00001.h5", store / "arrays/pitch/00001.h5")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda store: (store / "arrays/pitch/00001.h5").unlink(), "cannot be opened"),
        (lambda store: shutil.rmtree(store / "arrays"), "cannot be opened"),
        (_exchange, "made from a shard with the key 'key 0', the store has shard 1"),
        (_of_another, "holds the array 'spectrogram', expected 'pitch'"),
    ],
)
def test_an_array_that_is_not_whole_is_not_taken_up_and_is_named(
    store: Path, change: Callable[[Path], object], message: str
) -> None:
    change(store)
    with pytest.raises(CorruptStoreError, match=message):
        reindex_store(store)
