"""Writing and reading of datasets without h5py's slicing, compared with h5py."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from tts_prep.errors import CorruptStoreError
from tts_prep.format.datasets import Location, read_dataset
from tts_prep.format.hdf5_reader import read_locations
from tts_prep.format.hdf5_writer import create_dataset, create_file, write_arrays, write_rows


@pytest.mark.parametrize("dtype", ["<i8", "<i4", "<i2", "<f4"])
def test_rows_come_to_their_place_whatever_the_dtype_they_are_given_in(tmp_path: Path, dtype: str) -> None:
    with create_file(tmp_path / "a.h5") as file:
        dataset = create_dataset(file, "a", (7, 3), "<i8")
        write_rows(dataset, 0, np.zeros((7, 3), dtype))
        write_rows(dataset, 2, np.arange(-6, 6).reshape(4, 3).astype(dtype))
        write_rows(dataset, 7, np.empty((0, 3), dtype))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["a"][...].tolist() == [[0] * 3] * 2 + [[-6, -5, -4], [-3, -2, -1], [0, 1, 2], [3, 4, 5]] + [[0] * 3]


@pytest.mark.parametrize("n_rows", [[], [0], [2, 0, 5], [300_000, 1, 0, 200_000]])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int16"])
def test_arrays_stand_one_after_another_with_the_checksum_of_their_bytes(
    tmp_path: Path, n_rows: list[int], dtype: str
) -> None:
    arrays = [(np.arange(2 * n) % 1000).reshape(n, 2).astype(dtype) for n in n_rows]
    checksums: dict[str, str] = {}
    with create_file(tmp_path / "a.h5", checksums=checksums) as file:
        starts = write_arrays(file, "a", arrays, (2,), dtype, checksums)
        create_dataset(file, "b", (3,), "<i4")[...] = [1, 2, 3]
    assert starts.tolist() == [sum(n_rows[:i]) for i in range(len(n_rows) + 1)]
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["a"][...], np.concatenate([*arrays, np.empty((0, 2), dtype)]))
        found = json.loads(file["checksums"][()])
        assert found == {name: f"{zlib.crc32(file[name][...].tobytes()):08x}" for name in ("a", "b")}


def test_a_dataset_is_read_as_h5py_reads_it_and_not_beyond_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with create_file(path) as file:
        write_rows(create_dataset(file, "a", (5, 2), "<f4"), 0, np.arange(10, dtype=np.float32).reshape(5, 2))
        create_dataset(file, "none", (0, 2), "<f4")
    with h5py.File(path) as file:
        expected = file["a"][...]
    place, none = (read_locations(path)[name] for name in ("a", "none"))
    np.testing.assert_array_equal(read_dataset(path, place), expected)
    assert read_dataset(path, none).shape == (0, 2)
    with pytest.raises(CorruptStoreError, match="shorter than its datasets"):
        read_dataset(path, Location(place.offset, (1 << 60, 2), place.dtype))
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        read_dataset(tmp_path / "none.h5", place)
