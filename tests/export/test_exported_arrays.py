"""Layouts have every array of a store that they can have, and a line names those that they leave out."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from stores import HOP_LENGTH, SAMPLE_RATE, make_rows, write_store

from tts_prep.additions.add_arrays import add_features
from tts_prep.export import export
from tts_prep.imports.arrays import make_imported
from tts_prep.preprocess import add_array
from tts_prep.preprocess.configuration.records import Configuration, TextConfig

N_FRAMES = [7, 3, 9]
KINDS = {
    "codes@own:12.5": lambda rng, _: rng.integers(0, 1024, (4 + rng.integers(5), 3)).astype(np.int16),
    "ids@own": lambda rng, _: rng.integers(0, 10**6, 6).astype(np.int32),
    "energy@frame": lambda rng, frames: rng.normal(size=frames).astype(np.float32),
    # Names that each of the layouts has for something else.
    "audio@utterance": lambda rng, _: rng.normal(size=4).astype(np.float32),
    "recording@own": lambda rng, _: rng.normal(size=(2, 2)).astype(np.float16),
}
Values = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def values() -> Values:
    """The values of each array, by the id of an utterance."""
    rng, ids = np.random.default_rng(0), [row.id for row in make_rows(N_FRAMES)]
    return {
        kind.partition("@")[0]: {uid: make(rng, frames) for uid, frames in zip(ids, N_FRAMES, strict=True)}
        for kind, make in KINDS.items()
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, values: Values) -> Path:
    folder = tmp_path_factory.mktemp("arrays")
    settings = Configuration(text=TextConfig("characters")).as_dict()
    path = write_store(folder / "s", make_rows(N_FRAMES), n_shards=2, waveform=True, configuration=settings)
    for kind, given in zip(KINDS, values.values(), strict=True):
        np.savez(folder / "a.npz", **given)
        add_features(path, [make_imported(f"{kind}={folder / 'a.npz'}")])
        (folder / "a.npz").unlink()
    return path


def check(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_parquet_has_lists_with_the_features_of_the_hub(store: Path, values: Values, tmp_path: Path) -> None:
    export(store, "parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out/data/train-00000.parquet")
    triple = pa.list_(pa.int16(), 3)
    kinds = {"codes": pa.list_(triple), "ids": pa.list_(pa.int32()), "corpus_audio": pa.list_(pa.float32(), 4)}
    assert {name: table.schema.field(name).type for name in kinds} == kinds
    for name, given in values.items():
        new = {"audio": "corpus_audio"}.get(name, name)
        for row in table.select(["id", new]).to_pylist():
            check(np.array(row[new], given[row["id"]].dtype), given[row["id"]])
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    inner = {"feature": {"dtype": "int16", "_type": "Value"}, "length": 3, "_type": "Sequence"}
    assert features["codes"] == {"feature": inner, "_type": "Sequence"}
    assert features["recording"]["feature"]["feature"]["dtype"] == "float16"
    assert "- `codes`: int16, lists for each of 12.5 per second" in (tmp_path / "out/README.md").read_text()


def test_webdataset_has_a_member_for_each(store: Path, values: Values, tmp_path: Path) -> None:
    export(store, "webdataset", tmp_path / "out")
    with tarfile.open(tmp_path / "out/000000.tar") as archive:
        members = {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    ids = {name.partition(".")[0]: json.loads(data)["id"] for name, data in members.items() if name.endswith(".json")}
    assert len(ids) == len(N_FRAMES)
    for key, uid in ids.items():
        for name, given in values.items():
            check(np.load(io.BytesIO(members[f"{key}.{name}.npy"])), given[uid])


@pytest.mark.parametrize("layout", ["lhotse", "lhotse-shar"])
def test_cuts_have_arrays_with_their_times(store: Path, values: Values, tmp_path: Path, layout: str) -> None:
    out = tmp_path / "out"
    export(store, layout, out)
    path = out / ("cuts.jsonl.gz" if layout == "lhotse" else "cuts.000000.jsonl.gz")
    cuts = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert len(cuts) == len(N_FRAMES)
    shifts = {"codes": 1 / 12.5, "energy": HOP_LENGTH / SAMPLE_RATE}
    for cut in cuts:
        for name, given in values.items():
            expected = given[cut["supervisions"][0]["id"]]
            new = {"recording": "corpus_recording"}.get(name, name)
            entry = cut["custom"][new]
            assert entry.get("frame_shift") == shifts.get(name)
            place = entry.get("array", entry)
            assert place["shape"] == list(expected.shape)
            if layout == "lhotse":
                found = np.load(Path(place["storage_path"]) / place["storage_key"])
            else:
                with tarfile.open(out / f"{new}.000000.tar") as archive:
                    found = np.load(io.BytesIO(archive.extractfile(f"{cut['id']}.npy").read()))  # type: ignore[union-attr]
                    assert json.load(archive.extractfile(f"{cut['id']}.json")) == entry  # type: ignore[arg-type]
                assert place["storage_type"] == "shar"
            check(found, expected)
    if layout == "lhotse-shar":
        kinds = {*values, "corpus_recording", "features", "cuts"}
        assert {path.name.partition(".")[0] for path in out.iterdir()} == kinds


@pytest.mark.whole
def test_an_array_that_an_utterance_lacks_is_null_no_member_or_a_placeholder(tmp_path: Path) -> None:
    rows = make_rows(N_FRAMES)
    settings = Configuration(text=TextConfig("characters")).as_dict()
    store = write_store(tmp_path / "s", rows, waveform=True, configuration=settings)
    lacking = rows[1].id
    add_array(store, "codes", NotOf(lacking), dtype="int16", axis="own", batch_seconds=9, max_failures=1)
    for layout in ("parquet", "webdataset", "lhotse-shar", "lhotse"):
        export(store, layout, tmp_path / layout)
    table = pq.read_table(tmp_path / "parquet/data/train-00000.parquet").to_pylist()
    assert [row["codes"] for row in table] == [None if row.id == lacking else [1, 2] for row in rows]
    assert not {name for row in table for name in row if "codes_" in name}
    with tarfile.open(tmp_path / "webdataset/000000.tar") as archive:
        assert sum(name.endswith(".codes.npy") for name in archive.getnames()) == 2
    with tarfile.open(tmp_path / "lhotse-shar/codes.000000.tar") as archive:
        assert [Path(name).suffix for name in archive.getnames()] == [
            *(".npy", ".json"),
            *(".nodata", ".nometa"),
            *(".npy", ".json"),
        ]
    cuts = gzip.decompress((tmp_path / "lhotse/cuts.jsonl.gz").read_bytes()).splitlines()
    assert ["codes" in json.loads(line)["custom"] for line in cuts] == [True, False, True]


class NotOf:
    """A model that has no value of one utterance."""

    def __init__(self, lacking: str) -> None:
        self.lacking = lacking

    def __call__(self, ids: list[str]) -> list[Any]:
        return [None if uid == self.lacking else np.array([1, 2], np.int16) for uid in ids]


def test_a_line_names_what_a_layout_leaves_out(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = {
        layout: run(capsys, "export", store, tmp_path / layout, "--to", layout)[1].splitlines()[0]
        for layout in ("espnet", "kaldi", "webdataset")
    }
    arrays = "audio, codes, energy, ids, recording"
    found = {layout: line.partition(": ")[2].partition("; ")[0] for layout, line in out.items()}
    # Kaldi has the columns of the corpus.
    assert found["kaldi"] == arrays
    assert found["espnet"].startswith(f"{arrays}, ")
    assert out["espnet"].endswith("; espnet has no place for them")
    assert "left out" not in out["webdataset"]
