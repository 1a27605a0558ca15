"""Arrays that other programs wrote may come from anywhere: they are read with limits, and their files are named."""

from __future__ import annotations

import io
import os
import struct
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from tts_prep.errors import AlignmentError, ConfigurationError, FeatureError
from tts_prep.imports.alignment_files import read_durations
from tts_prep.imports.arrays import ImportedArray


def npy(header: bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    return b"\x93NUMPY" + version + size + header + data


def header(descr: str = "<f4", shape: str = "(3,)") -> bytes:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()


def archive(member: bytes, method: int = 8, **fields: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        zipped.writestr("a.npy", member)
    data = bytearray(file.getvalue())
    data[8:10] = struct.pack("<H", method)  # in the header of the member, then in the directory
    place = data.index(b"PK\x01\x02")
    data[place + 10 : place + 12] = struct.pack("<H", method)
    data[place + 8 : place + 10] = struct.pack("<H", fields.get("flags", 0))
    return bytes(data)


GOOD = npy(header(), bytes(12))
NPY = {
    "of a shape that takes 2^60 bytes": npy(header(shape="(1152921504606846976,)"), bytes(12)),
    "of a shape beyond all integers": npy(header(shape="(" + "9" * 40 + ",)"), bytes(12)),
    "of a negative shape": npy(header(shape="(-3,)"), bytes(12)),
    "of a shape of many dimensions": npy(header(shape="(" + "1," * 60 + ")"), bytes(12)),
    "with a header that is no expression": npy(b"{'descr': '<f4', '''\n"),
    "with a header of half a number": npy(header(shape="(3L, 0x)")),
    "with a header of 4 GiB": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"x" * 100,
    "of objects": npy(header(descr="|O"), bytes(24)),
    "of another version": npy(header(), bytes(12), b"\x07\x00"),
    "of half its bytes": GOOD[:-6],
    "that is empty": b"",
}
NPZ: dict[str, Callable[[], bytes]] = {
    **{f"with an array {what}": partial(archive, data) for what, data in NPY.items()},
    "compressed in an unknown way": lambda: archive(GOOD, method=97),
    "that is encrypted": lambda: archive(GOOD, flags=1),
    "that is no archive": lambda: b"PK\x05\x06" + b"\xff" * 30,
    "of a bomb": lambda: archive(npy(header(descr="|u1", shape=f"({1 << 30},)"), bytes(1 << 28))),
}


def values_of(path: Path, name: str = "a") -> np.ndarray:
    array = ImportedArray.of("x", path)
    return np.asarray(array.compute(SimpleNamespace(id=name)).arrays["x"])  # type: ignore[arg-type]


@pytest.mark.parametrize("what", [*NPY, *(f"an archive {name}" for name in NPZ)])
def test_a_broken_array_is_one_line_that_names_its_file(tmp_path: Path, what: str) -> None:
    is_archive = what.startswith("an archive ")
    data = NPZ[what.removeprefix("an archive ")]() if is_archive else NPY[what]
    if is_archive:
        path = tmp_path / "x.npz"
        path.write_bytes(data)
    else:
        path = tmp_path / "x"
        path.mkdir()
        (path / "b.npy").write_bytes(data)
    with pytest.raises(ConfigurationError, match=rf"array 'x': .*{path.name}") as fault:
        ImportedArray.of("x", path)
    assert "\n" not in str(fault.value)
    # The same fault in an array that is not the first one.
    good = tmp_path / "good"
    good.mkdir()
    (good / "a.npy").write_bytes(GOOD)
    if not is_archive:
        (good / "b.npy").write_bytes(data)
        with pytest.raises(FeatureError, match=r"b\.npy: cannot be read as an array"):
            values_of(good, "b")
        (tmp_path / "d.npy").write_bytes(data)
        with pytest.raises(AlignmentError, match=r"d\.npy: "):
            read_durations(tmp_path / "d.npy")


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
@pytest.mark.parametrize("text", ["9" * 400, "1 2 x", "\xff", "1e999 nan", "-1", ""])
def test_durations_that_are_no_numbers_are_one_line_that_names_their_file(
    tmp_path: Path, text: str, suffix: str
) -> None:
    path = tmp_path / f"d{suffix}"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(AlignmentError, match=rf"d\{suffix}: ") as fault:
        read_durations(path)
    assert "\n" not in str(fault.value)


def write_h5(path: Path, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=np.arange(6, dtype="f4").reshape(3, 2), **options)


@pytest.mark.parametrize("options", [{}, {"chunks": (2, 2), "compression": "gzip"}, {"dtype": ">f8"}])
def test_arrays_of_hdf5_are_read_as_h5py_reads_them(tmp_path: Path, options: dict[str, Any]) -> None:
    write_h5(tmp_path / "x.h5", **options)
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["group/b"] = np.ones((1, 2), "f4")
    np.testing.assert_array_equal(values_of(tmp_path / "x.h5"), [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(values_of(tmp_path / "x.h5", "group/b"), [[1, 1]])
    for missing in ("c", "group", "group/c", "a/b", "."):
        with pytest.raises(FeatureError, match="no array of"):
            values_of(tmp_path / "x.h5", missing)


def test_arrays_of_npy_and_npz_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "x").mkdir()
    arrays = [rng.normal(size=(4, 3)), rng.integers(9, size=5), np.asfortranarray(rng.normal(size=(2, 3, 4)))]
    arrays += [np.zeros((0, 3), "f4"), rng.normal(size=(2, 2)).astype(">f4")]
    for array in arrays:
        np.save(tmp_path / "x/a.npy", array)
        np.testing.assert_array_equal(values_of(tmp_path / "x"), array)
        for number, save in enumerate((np.savez, np.savez_compressed)):
            path = tmp_path / f"{id(array)}-{number}.npz"
            save(path, a=array)
            np.testing.assert_array_equal(values_of(path), array)


def external(folder: Path) -> None:
    (folder / "secret").write_bytes(b"sixteen secrets!")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("a", (2, 2), "f4", external=[(str(folder / "secret"), 0, 16)])


def external_link(folder: Path) -> None:
    write_h5(folder / "other.h5")
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = h5py.ExternalLink(str(folder / "other.h5"), "a")


def soft_link(folder: Path) -> None:
    write_h5(folder / "x.h5")
    with h5py.File(folder / "x.h5", "a") as file:
        file.move("a", "b")
        file["a"] = h5py.SoftLink("/b")


def virtual(folder: Path) -> None:
    write_h5(folder / "other.h5")
    layout = h5py.VirtualLayout((3, 2), "f4")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "a", (3, 2))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_virtual_dataset("a", layout)


def texts(folder: Path) -> None:
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = ["x", "y"]


def huge(folder: Path) -> None:
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("a", (1 << 40,), "f4", chunks=(1 << 20,), compression="gzip")


@pytest.mark.parametrize("write", [external, external_link, soft_link, virtual, texts, huge])
def test_no_other_file_is_read_by_an_hdf5_file(tmp_path: Path, write: Any) -> None:
    write(tmp_path)
    with pytest.raises((ConfigurationError, FeatureError), match=r"x\.h5: (cannot be read|contains no array)") as fault:
        values_of(tmp_path / "x.h5")
    assert "\n" not in str(fault.value)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["0"] = np.zeros((1, 2), "f4")
        if write in (external_link, soft_link):
            file["a"] = h5py.ExternalLink(str(tmp_path / "x.h5"), "a")
    if write in (external_link, soft_link):
        with pytest.raises(FeatureError, match=r"y\.h5: cannot be read as an array \('a': .*found a link"):
            values_of(tmp_path / "y.h5")


@pytest.mark.parametrize("name", ["x.h5", "x.npz", "x/a.npy"])
def test_a_named_pipe_blocks_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigurationError, match="expected a regular file, found a named pipe"):
        ImportedArray.of("x", path.parent if path.suffix == ".npy" else path)


def test_a_file_at_which_hdf5_crashes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "victim.py").write_text("import os\ndef answer(*values):\n    os.abort()\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr("tts_prep.imports.arrays._ANSWER", "victim:answer")
    write_h5(tmp_path / "x.h5")
    with pytest.raises(ConfigurationError, match=r"x\.h5: cannot be read \(crashes the HDF5 library"):
        ImportedArray.of("x", tmp_path / "x.h5")
