"""Malicious stores are refused with a clear error, before memory is allocated or offsets are followed."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from forked_tests import forked_python
from stores import edit_manifest, make_rows, of_room, seal_again, sealed, write_store

import tts_prep
from tts_prep.cli.main import main
from tts_prep.errors import CorruptStoreError, StoreError, TtsPrepError
from tts_prep.format.contents.shard import FindLocations, inspect_shard
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import DataLoader, UtteranceDataset, collate

verify_store = of_room("verification.files", "verify_store")

pytestmark = pytest.mark.usefixtures("own_hdf5_process")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "s"
    return write_store(path, make_rows([7, 3, 9, 4, 5]), n_shards=2, waveform=True)


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """Return a store that the test may change."""
    return Path(shutil.copytree(whole, tmp_path / "s"))


def read(store: Path) -> None:
    dataset = UtteranceDataset(store)
    for utterance in dataset:
        assert utterance.mel.shape[1] == dataset.n_mels
    collate(dataset)
    for _ in DataLoader(dataset, batch_size=2):
        pass
    _ = dataset.sort("n_frames"), dataset.filter(lambda m: m.speaker == "zoë"), list(dataset.text), repr(dataset)


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    return int(exit_.value.code or 0)


@pytest.fixture(scope="module", name="find")
def make_find() -> Iterator[FindLocations]:
    """Yield the process that finds datasets of HDF5 files, shared by all tests of this module."""
    with hdf5_process() as process:
        yield process


def use(store: Path, find: FindLocations) -> list[Callable[[], object]]:
    """Return everything that reads a store."""
    return [
        lambda: read(store),
        lambda: list(verify_store(store, find=find)),
        lambda: command("info", store),
        lambda: command("info", store, "--json"),
        lambda: inspect_shard(store / "shards/00001.h5", 1, find),
    ]


def use_all(store: Path, find: FindLocations) -> int:
    """Call everything that reads a store; return the number of refusals. Only `TtsPrepError` is caught."""
    refused = 0
    for action in use(store, find):
        try:
            action()
        except TtsPrepError as error:
            refused += 1
            assert str(error)
            assert len(str(error)) < 2000
    return refused


MANIFESTS: dict[str, Callable[[Any], object]] = {
    "a newer major version": lambda m: m.update(version="2.0"),
    "no version": lambda m: m.pop("version"),
    "a version that is a list": lambda m: m.update(version=[1, 0]),
    "a version of many digits": lambda m: m.update(version="1." + "9" * 5000),
    "a path with ..": lambda m: m["shards"][0].update(file="../../etc/passwd"),
    "an absolute path": lambda m: m["shards"][0].update(file="/etc/passwd"),
    "a path with a backslash": lambda m: m["shards"][0].update(file="..\\secret"),
    "a path with NUL": lambda m: m["shards"][0].update(file="shards/\0"),
    "a path with a newline": lambda m: m["shards"][0].update(file="shards/\n.h5"),
    "a path that is a number": lambda m: m["shards"][0].update(file=7),
    "an empty path": lambda m: m["shards"][0].update(file=""),
    "a very long path": lambda m: m["shards"][0].update(file="a/" * 5000),
    "another index": lambda m: m["index"].update(file="shards/00000.h5"),
    "a negative size": lambda m: m["shards"][0].update(size=-1),
    "an enormous size": lambda m: m["shards"][0].update(size=1 << 62),
    "a size of many digits": lambda m: m["shards"][0].update(size=10**400),
    "rows that are negative": lambda m: m["shards"][0].update(rows=-3),
    "rows that would take 2^60 bytes": lambda m: [m["index"].update(rows=1 << 58), m["shards"][0].update(rows=1 << 58)],
    "rows that are a truth value": lambda m: m["shards"][0].update(rows=True),
    "shards that are a dictionary": lambda m: m.update(shards={}),
    "no shards": lambda m: m.update(shards=[]),
    "no arrays": lambda m: m.update(arrays={}),
    "no mel": lambda m: m["arrays"].pop("mel"),
    "a dtype of objects": lambda m: m["arrays"]["mel"].update(dtype="O"),
    "a dtype of another size": lambda m: m["arrays"]["phonemes"].update(dtype="float64"),
    "a dtype that is a list": lambda m: m["arrays"]["mel"].update(dtype=[["a", "O"]]),
    "rows of an enormous shape": lambda m: m["arrays"]["mel"].update(row_shape=[1 << 50]),
    "rows of a negative shape": lambda m: m["arrays"]["mel"].update(row_shape=[-5]),
    "rows of many dimensions": lambda m: m["arrays"]["mel"].update(row_shape=[1] * 100),
    "rows of a shape that is text": lambda m: m["arrays"]["mel"].update(row_shape="5"),
    "rows of a shape that is an object": lambda m: m["arrays"]["phonemes"].update(row_shape={}),
    "a silence of text": lambda m: m["arrays"]["mel"].update(silence=["x"] * 5),
    "a silence of other length": lambda m: m["arrays"]["mel"].update(silence=[0.0]),
    "a silence beyond all numbers": lambda m: m["arrays"]["mel"].update(silence=[10**400] * 5),
    "a sample rate of 0": lambda m: m["arrays"]["mel"].update(sample_rate=0),
    "a hop length of text": lambda m: m["arrays"]["mel"].update(hop_length="256"),
    "a pad id that is not there": lambda m: m["vocabulary"].update(pad=99),
    "symbols that are numbers": lambda m: m["vocabulary"].update(symbols=[1, 2, 3]),
    "speakers that are lists": lambda m: m.update(speakers=[[], []]),
    "half a surrogate pair": lambda m: m.update(speakers=["\ud800"]),
    "a mean that is nested": lambda m: m["mel_statistics"].update(mean=[[[[0.0]]]] * 5),
    "no statistics": lambda m: m.update(mel_statistics={}),
    "no locations of datasets": lambda m: m.pop("datasets"),
    "no locations in the index": lambda m: m["datasets"].pop("index.h5"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_crafted_manifest_is_refused(store: Path, what: str, find: FindLocations) -> None:
    edit_manifest(store, MANIFESTS[what])
    with pytest.raises(StoreError, match=r"(manifest\.json|index\.h5|00000\.h5)"):
        read(store)
    assert use_all(store, find) >= 1
    # The same values with a checksum that does not hold.
    path = store / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"checksum": "', '"checksum": "0', 1), encoding="utf-8")
    with pytest.raises(StoreError):
        read(store)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON"),
        (b"null", "expected a JSON object"),
        (b"[" * 200_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"format": "tts-prep store", "version": "1.3", "rows": ' + b"9" * 100_000 + b"}", "not JSON"),
        (b'{"format": NaN}', "not JSON"),
        (b"\xff\xfe{}", "expected UTF-8, found byte 0xff"),
        (b"\x00" * 1000, "not JSON"),
        (b'{"format": "tts-prep store", "version": "1.3"}', "is missing"),
    ],
)
def test_a_manifest_that_is_no_json_of_a_store_is_refused(
    store: Path, text: bytes, message: str, find: FindLocations
) -> None:
    (store / "manifest.json").write_bytes(text)
    with pytest.raises(StoreError, match=message):
        UtteranceDataset(store)
    use_all(store, find)


def test_an_enormous_manifest_is_not_read(store: Path) -> None:
    with (store / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(CorruptStoreError, match="longer than the maximum of 33,554,432 bytes"):
        UtteranceDataset(store)


@pytest.mark.parametrize("name", ["manifest.json", "index.h5", "shards/00000.h5"])
@pytest.mark.parametrize("what", ["a link out", "a pipe", "a folder", "a link to itself", "a device"])
def test_a_file_that_is_no_file_of_the_store_is_refused_and_not_opened(
    store: Path, tmp_path: Path, name: str, what: str, find: FindLocations
) -> None:
    path = store / name
    outside = tmp_path / "outside"
    shutil.move(path, outside)
    if what == "a link out":
        path.symlink_to(outside)
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
    elif what == "a link to itself":
        path.symlink_to(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=name.rpartition("/")[2]):
        read(store)
    use_all(store, find)


def test_a_link_within_the_store_is_followed(store: Path) -> None:
    (store / "shards/00000.h5").rename(store / "shards/x.h5")
    (store / "shards/00000.h5").symlink_to("x.h5")
    read(store)


def test_a_folder_that_is_a_link_out_of_the_store_is_refused(store: Path, tmp_path: Path, find: FindLocations) -> None:
    (store / "shards").rename(tmp_path / "outside")
    (store / "shards").symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptStoreError, match=r"00000\.h5: a link to a file outside of the store"):
        read(store)
    use_all(store, find)


@pytest.mark.parametrize("name", ["../outside", "shards/../../outside", "{folder}/outside"])
def test_a_path_that_leads_out_of_the_store_is_refused(store: Path, tmp_path: Path, name: str) -> None:
    (store.parent / "outside").write_text("x")
    with pytest.raises(CorruptStoreError, match="a link to a file outside of the store"):
        stored_file(store, name.format(folder=store.parent))


def test_a_store_below_a_link_is_read(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store.parent)
    read(tmp_path / "link" / store.name)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["index.h5", "shards/00001.h5"])
def test_a_broken_heap_of_attributes_does_not_keep_a_reader_for_ever(store: Path, tmp_path: Path, name: str) -> None:
    data = bytearray((store / name).read_bytes())
    heap = data.index(b"GCOL")
    size = int.from_bytes(data[heap + 8 : heap + 16], "little")
    # The last object is what is free: number 0, with its size 8 bytes on. HDF5 walks from object to object by these.
    place = heap + 16
    while number := int.from_bytes(data[place : place + 2], "little"):
        assert number < 1000
        place += 16 + -(-int.from_bytes(data[place + 8 : place + 16], "little") // 8) * 8
    assert int.from_bytes(data[place + 8 : place + 16], "little") == heap + size - place
    data[place + 8 : place + 16] = bytes(8)
    (store / name).write_bytes(data)
    command = [*forked_python(), "-m", "tts_prep", "verify", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.startswith(f"{name}: ")) == (1, True)
    seal_again(store)
    read(store)
    reindex_store(store)
    read(store)


def replace(group: h5py.Group, name: str, how: str, outside: Path) -> None:
    """Replace a dataset by one of another type, with the same values if possible."""
    values = group[name][...]
    kind = group[name].attrs.get("kind")
    del group[name]
    if how == "external link":
        with h5py.File(outside, "w") as other:
            other["x"] = values
        group[name] = h5py.ExternalLink(str(outside), "x")
        return
    if how == "soft link":
        group["real"] = values
        group[name] = h5py.SoftLink(f"{group.name}/real")
        return
    if how == "external storage":
        outside.write_bytes(values.tobytes())
        group.create_dataset(name, values.shape, values.dtype, external=[(str(outside), 0, h5py.h5f.UNLIMITED)])
    elif how == "virtual":
        with h5py.File(outside, "w") as other:
            other["x"] = values
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[...] = h5py.VirtualSource(str(outside), "x", values.shape)
        group.create_virtual_dataset(name, layout)
    elif how == "chunked":
        group.create_dataset(name, data=values, chunks=True)
    elif how == "unlimited":
        group.create_dataset(name, data=values, maxshape=(None, *values.shape[1:]))
    elif how == "compressed":
        group.create_dataset(name, data=values, compression="gzip")
    elif how == "references":
        group.create_dataset(name, data=np.array([group.ref] * len(values), h5py.ref_dtype))
    elif how == "variable-length strings":
        group.create_dataset(name, data=["x"] * len(values))
    elif how == "big-endian":
        group.create_dataset(name, data=values.astype(values.dtype.newbyteorder(">")))
    elif how == "compound":
        group.create_dataset(name, data=np.zeros(values.shape, [("a", "<i4")]))
    elif how == "complex":
        group.create_dataset(name, data=values.astype(np.complex64))
    elif how == "enormous":
        # Contiguous, and never written to: nothing is allocated by whoever makes it.
        group.create_dataset(name, (1 << 57, *values.shape[1:]), values.dtype)
    elif how == "null":
        group[name] = h5py.Empty(values.dtype)
    elif how == "a group":
        group.create_group(name)
    elif how == "a named type":
        group[name] = np.dtype("<i4")
    elif how == "a loop":
        group[name] = group
    if kind is not None and name in group:
        group[name].attrs["kind"] = kind


KINDS = (
    *("external link", "soft link", "external storage", "virtual", "chunked", "unlimited", "compressed", "references"),
    *("variable-length strings", "big-endian", "compound", "complex", "enormous", "null", "a group", "a named type"),
    *("a loop", "missing"),
)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *(("columns/n_frames", how) for how in KINDS),
        # A byte has no order.
        *(("columns/text/bytes", how) for how in KINDS if how != "big-endian"),
    ],
)
def test_another_kind_of_dataset_in_the_index_is_refused(
    store: Path, tmp_path: Path, name: str, how: str, find: FindLocations
) -> None:
    group, _, leaf = name.rpartition("/")
    with h5py.File(store / "index.h5", "r+") as file:
        replace(file[group], leaf, how, tmp_path / "outside")
    seal_again(store)
    assert {entry.file: fault for entry, fault in verify_store(store, find=find)}["index.h5"]
    use_all(store, find)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("name", ["mel", "columns/id/offsets"])
def test_another_kind_of_dataset_in_a_shard_is_refused(
    store: Path, tmp_path: Path, name: str, how: str, find: FindLocations
) -> None:
    group, _, leaf = name.rpartition("/")
    with h5py.File(store / "shards/00001.h5", "r+") as file:
        replace(file[group or "/"], leaf, how, tmp_path / "outside")
    seal_again(store)
    with pytest.raises(CorruptStoreError, match=r"00001\.h5"):
        inspect_shard(store / "shards/00001.h5", 1, find)
    with pytest.raises(CorruptStoreError, match=r"00001\.h5"):
        reindex_store(store, find=find)
    use_all(store, find)


def rewrite_header(path: Path, change: Callable[[Any], Any]) -> None:
    """Replace the header of a shard, with valid checksums and seal."""
    with h5py.File(path, "r+") as file:
        header = json.dumps(change(json.loads(file["header"][()]))).encode()
        checksums = json.dumps({**json.loads(file["checksums"][()]), "header": f"{zlib.crc32(header):08x}"}).encode()
        for name, text in (("header", header), ("checksums", checksums)):
            del file[name]
            file.create_dataset(name, data=np.array(text, h5py.string_dtype("utf-8", max(1, len(text)))))
    path.write_bytes(sealed(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("count", -1), ("count", 1.5), ("count", (1 << 63) - 3), ("m2", [1, 1, 1, 1, -3]), ("m2", [1] * 4)),
        *(("mean", [1e200] * 5), ("mean", [10**400] * 5), ("mean", [0.0])),
    ],
)
def test_statistics_that_cannot_be_are_refused(store: Path, name: str, value: object, find: FindLocations) -> None:
    def change(header: Any) -> Any:
        header["mel_statistics"]["zoë"][name] = value
        return header

    rewrite_header(store / "shards/00001.h5", change)
    with pytest.raises(CorruptStoreError, match=r"00001\.h5: header: mel_statistics: '"):
        reindex_store(store, find=find)


def test_a_speaker_without_statistics_is_refused(store: Path, find: FindLocations) -> None:
    def rename(header: Any) -> Any:
        header["mel_statistics"] = {"other": header["mel_statistics"].pop("zoë")}
        return header

    rewrite_header(store / "shards/00001.h5", rename)
    with pytest.raises(CorruptStoreError, match=r"00001\.h5: has speakers without mel statistics"):
        reindex_store(store, find=find)


@pytest.mark.parametrize("how", ["text", "array", "variable length", "compressed", "missing", "enormous"])
def test_another_kind_of_header_is_refused(store: Path, how: str, find: FindLocations) -> None:
    path = store / "shards/00001.h5"
    with h5py.File(path, "r+") as file:
        del file["header"]
        if how == "text":
            file["header"] = np.array(b"{not json", "S")
        elif how == "array":
            file["header"] = np.array([b"{}"] * 10, "S2")
        elif how == "variable length":
            file["header"] = "{}"
        elif how == "compressed":
            file.create_dataset("header", data=np.array([b"{}"] * 100), chunks=True, compression="gzip")
        elif how == "enormous":
            file.create_dataset("header", (), h5py.string_dtype("utf-8", (1 << 31) - 1))
    with pytest.raises(CorruptStoreError, match=r"00001\.h5"):
        inspect_shard(path, 1, find)
    use_all(store, find)


def set_index(store: Path, name: str, values: object) -> None:
    with h5py.File(store / "index.h5", "r+") as file:
        file[name][...] = values
    seal_again(store)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("shards/mel_offset", -(2**63)),
        ("shards/mel_offset", 2**63 - 1),
        ("shards/mel_offset", -1),
        ("shards/mel_rows", 2**60),
        ("shards/mel_rows", 2**63 - 1),
        ("shards/mel_rows", -5),
        ("shards/phonemes_rows", 2**62),
    ],
)
def test_arrays_at_impossible_places_are_refused_on_opening(
    store: Path, name: str, values: int, find: FindLocations
) -> None:
    set_index(store, name, values)
    with pytest.raises(CorruptStoreError, match="exceed its"):
        UtteranceDataset(store)
    use_all(store, find)


def test_arrays_that_overlap_are_refused_on_opening(store: Path) -> None:
    with h5py.File(store / "index.h5", "r+") as file:
        file["shards/phonemes_offset"][...] = file["shards/mel_offset"][...]
    seal_again(store)
    with pytest.raises(CorruptStoreError, match="'phonemes' and 'mel' of shard 0 overlap"):
        UtteranceDataset(store)


@pytest.mark.whole
def test_a_text_that_a_terminal_would_act_on_is_shown_and_not_sent(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(manifest: Any) -> None:
        totals = dict.fromkeys(("utterances", "failures", "frames", "phonemes", "shards"), 1)
        manifest.update(totals={**totals, "seconds": 1.0}, software={"\x1b[2J": "1"})
        audio = {**dict.fromkeys(("n_mels", "n_fft", "win_length"), 1), "framing": "x"}
        audio |= {name: manifest["arrays"]["mel"][name] for name in ("sample_rate", "hop_length")}
        manifest.update(
            configuration={"audio": {**audio, "fmin": 0.0, "fmax": 1.0}, "text": {"frontend": "", "language": ""}}
        )

    edit_manifest(store, change)
    assert command("info", store) == 0
    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    assert r"\x1b[2J" in out


def test_nothing_of_a_store_is_ever_unpickled_or_evaluated() -> None:
    names = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    root = Path(tts_prep.__file__).parent
    for path in root.rglob("*.py"):
        if path.is_relative_to(root / "preprocess/workers"):
            continue  # a run and its own workers, which no file of a store reaches
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (*names, "np.load", "np.fromfile", "eval", "exec", "__import__")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert not names & {alias.name.split(".")[0] for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in names, path
            elif isinstance(node, ast.Call):
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                of_numpy = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "np"
                safe = any(keyword.arg == "allow_pickle" and not keyword.value.value for keyword in node.keywords)
                assert not (of_numpy and name in ("load", "fromfile")) or safe, path
                assert not (isinstance(function, ast.Name) and name in ("eval", "exec", "__import__")), path
