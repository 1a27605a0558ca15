"""Writing and reading of datasets without h5py's slicing, compared with h5py."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from tts_prep.errors import CorruptStoreError
from tts_prep.format.hdf5.datasets import Location, map_file, read_dataset
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import (
    create_dataset,
    create_file,
    write_arrays,
    write_dataset,
    write_number,
    write_rows,
    write_texts,
)


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
        write_dataset(file, "b", np.array([1, 2, 3], "<i4"))
    assert starts.tolist() == [sum(n_rows[:i]) for i in range(len(n_rows) + 1)]
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["a"][...], np.concatenate([*arrays, np.empty((0, 2), dtype)]))
        found = json.loads(file["checksums"][()])
        assert found == {name: f"{zlib.crc32(file[name][...].tobytes()):08x}" for name in ("a", "b")}


def test_files_have_the_bytes_that_h5pys_own_datasets_and_attributes_have(tmp_path: Path) -> None:
    numbers, texts = np.arange(12, dtype="<f8").reshape(4, 3), ["one", "", "zwölf"]
    with create_file(tmp_path / "ours.h5") as file:
        write_dataset(file, "a", numbers)
        write_dataset(file, "none", numbers[:0])
        columns = file.create_group("columns")
        write_number(columns, "grün", [3, 2, 1], "<i4")
        write_texts(columns, "text", texts, "category")
    with create_file(tmp_path / "theirs.h5") as file:
        file.create_dataset("a", data=numbers, track_times=False)
        file.create_dataset("none", data=numbers[:0], track_times=False)
        columns = file.create_group("columns")
        columns.create_dataset("grün", data=np.array([3, 2, 1], "<i4"), track_times=False).attrs["kind"] = "number"
        child = columns.create_group("text")
        child.attrs["kind"] = "category"
        data = np.frombuffer("".join(texts).encode(), np.uint8)
        child.create_dataset("bytes", data=data, track_times=False)
        child.create_dataset("offsets", data=np.array([0, 3, 3, 9], "<i8"), track_times=False)
    assert (tmp_path / "ours.h5").read_bytes() == (tmp_path / "theirs.h5").read_bytes()


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


def test_a_mapped_dataset_is_what_h5py_reads_and_is_checked_against_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    values = np.arange(10, dtype="<f4").reshape(5, 2)
    with create_file(path) as file:
        write_rows(create_dataset(file, "a", (5, 2), "<f4"), 0, values)
    place = read_locations(path)["a"]
    crc32 = f"{zlib.crc32(values.tobytes()):08x}"
    mapped = map_file(path).dataset(Location(place.offset, place.shape, place.dtype, crc32))
    with h5py.File(path) as file:
        np.testing.assert_array_equal(mapped, file["a"][...])
    assert (mapped.dtype, mapped.flags.writeable) == (np.dtype("<f4"), False)
    with pytest.raises(CorruptStoreError, match=rf"40 bytes at offset {place.offset:,} have the CRC-32 {crc32}"):
        map_file(path).dataset(Location(place.offset, place.shape, place.dtype, "00000000"))


def test_a_dataset_beyond_its_file_is_refused_also_if_the_file_was_longer_when_it_was_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(64)))
    file = map_file(path)
    numbers = np.dtype("<i4")
    for offset, count in ((-4, 1), (61, 1), (0, 17), (1 << 70, 1), (0, 1 << 60)):
        with pytest.raises(CorruptStoreError, match="64 bytes, expected at least"):
            file.dataset(Location(offset, (count,), numbers))
    assert file.dataset(Location(60, (1,), numbers)).tolist() == [0x3F3E3D3C]
    os.truncate(path, 60)
    with pytest.raises(CorruptStoreError, match="60 bytes, expected at least 64"):
        file.dataset(Location(60, (1,), numbers))
    with pytest.raises(CorruptStoreError, match="a: cannot be read"):
        file.dataset(Location(-1, (0, 1 << 60), np.dtype("<f8")))


def test_an_empty_file_has_datasets_without_elements_only(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    assert map_file(path).dataset(Location(-1, (0, 3), np.dtype("<i4"))).shape == (0, 3)
    with pytest.raises(CorruptStoreError, match="0 bytes, expected at least 4"):
        map_file(path).dataset(Location(0, (1,), np.dtype("<i4")))


def test_a_named_pipe_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(CorruptStoreError, match="a: cannot be opened .expected a regular file, found a named pipe"):
        map_file(tmp_path / "a")
