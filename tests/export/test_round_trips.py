"""A store with measures goes through every container and back: numbers are the same, and missing ones are missing."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from commands import run
from corpora import speech_like
from stores import SAMPLE_RATE, make_rows, write_store

from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_array, add_columns
from tts_prep.preprocess.configuration.records import Configuration, TextConfig

NAMES = ("loudness_lufs", "pitch_hz", "snr_db", "bandwidth_hz", "phones_per_second")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A voice of half a second, noise, and digital silence, of which most measures are missing.
    rows = [replace(row, id=f"u{i}") for i, row in enumerate(make_rows([44, 44, 44]))]
    voice = np.round(speech_like(len(rows[0].waveform) / SAMPLE_RATE, 1) * 32_767).astype(np.int16)
    rows[0] = replace(rows[0], waveform=voice[: len(rows[0].waveform)])
    rows[2] = replace(rows[2], waveform=np.zeros_like(rows[2].waveform))
    path = write_store(tmp_path_factory.mktemp("measured") / "s", rows, waveform=True)
    with pytest.MonkeyPatch.context(), pytest.raises(SystemExit) as exit_:
        from tts_prep.cli.main import main

        main(["add", str(path), "--measures"])
    assert not exit_.value.code
    return path


def measures(store: Path) -> dict[str, npt.NDArray[np.float64]]:
    dataset = UtteranceDataset(store)
    order = np.argsort(dataset.id)
    return {name: np.asarray(dataset.columns[name], np.float64)[order] for name in NAMES if name in dataset.columns}


def lists(store: Path, folder: Path, form: str) -> Path:
    """Return what `tts-prep manifest` reads: an export, or its rows in another form."""
    export(store, form if form in ("lhotse", "webdataset", "parquet") else "nemo", folder)
    if form in ("jsonl", "csv"):
        rows = [json.loads(line) for line in (folder / "manifest.json").read_text(encoding="utf-8").splitlines()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        path = folder / f"list.{form}"
        if form == "jsonl":
            # As other programs write it: null, and Python's NaN.
            texts = [
                json.dumps({name: row.get(name, [None, np.nan][i % 2]) for name in names}) for i, row in enumerate(rows)
            ]
            path.write_text("\n".join(texts), encoding="utf-8")
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, names, restval="")
                writer.writeheader()
                writer.writerows(rows)
        return path
    return {"nemo": folder / "manifest.json", "lhotse": folder / "cuts.jsonl.gz"}.get(form, folder)


@pytest.mark.whole
@pytest.mark.parametrize("form", ["jsonl", "csv", "nemo", "lhotse", "webdataset", "parquet"])
def test_measures_come_back_and_missing_ones_stay_missing(store: Path, tmp_path: Path, capsys, form: str) -> None:
    before = measures(store)
    missing = {name: np.isnan(values) for name, values in before.items()}
    assert 1 <= sum(mask.sum() for mask in missing.values()) < sum(mask.size for mask in missing.values())
    path = lists(store, tmp_path / "out", form)
    # Silence fails, unless it is kept as it is.
    arguments = ("manifest", path, tmp_path / "again", "--jobs", 1, "--waveform", "int16", "--peak", "none")
    status, _, err = run(capsys, *arguments, "--max-failures", "100%")
    assert status == 0, err
    again = UtteranceDataset(tmp_path / "again")
    rows = [int(uid[1:]) for uid in sorted(again.id)]
    assert len(rows) >= 2
    for name, values in measures(tmp_path / "again").items():
        # A measure that is missing in all rows has no column.
        np.testing.assert_array_equal(values, before[name][rows])
    absent = set(NAMES) - measures(tmp_path / "again").keys()
    assert all(missing[name].all() for name in absent)


@pytest.mark.whole
@pytest.mark.parametrize("form", ["jsonl", "csv", "nemo", "lhotse", "webdataset", "parquet"])
def test_speakers_and_infinite_numbers_come_back_and_arrays_where_a_list_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    rows = [replace(row, id=f"u{i}", speaker=f"spk{i % 2}") for i, row in enumerate(make_rows([44, 44, 44]))]
    settings = Configuration(text=TextConfig("characters")).as_dict()
    store = write_store(tmp_path / "s", rows, waveform=True, configuration=settings)
    tokens = partial(np.arange, 5, dtype=np.int16)
    add_array(store, "speech_tokens", lambda _: tokens(), dtype="int16", axis="own")
    add_columns(store, {"id": ["u0", "u1", "u2"], "score": [-np.inf, 2.5, None]})
    path = lists(store, tmp_path / "out", form)
    options = ("--jobs", 1, "--frontend", "characters", "--waveform", "int16", "--quiet")
    status, _, err = run(capsys, "manifest", path, tmp_path / "again", *options)
    assert status == 0, err
    again = UtteranceDataset(tmp_path / "again").sort("id")
    assert list(again.speaker) == ["spk0", "spk1", "spk0"]
    assert "corpus_speaker" not in again.columns
    assert ("speech_tokens" in again.arrays) == (form in ("jsonl", "nemo", "parquet"))
    if "speech_tokens" in again.arrays:
        assert all(np.array_equal(values, tokens()) for values in again.views("speech_tokens"))
    np.testing.assert_array_equal(np.asarray(again.columns["score"]), [-np.inf, 2.5, np.nan])


@pytest.mark.whole
@pytest.mark.parametrize("layout", ["jsonl", "nemo", "parquet", "lhotse"])
def test_every_array_and_column_comes_back(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    rng, texts = np.random.default_rng(0), ["One.", "Zwei.", "", "Four, four."]
    recordings = sorted((corpus / "wavs").iterdir())[: len(texts)]
    values = [
        {
            "id": f"u{i}",
            "audio": str(audio),
            "text": text,
            "speaker": f"s{i % 2}",
            "instruct": ["slowly", "a, b"][i % 2],
        }
        | {"score": [-1.5, 2.0**40, None, 0.1][i], "language": ["en-us", "de"][i % 2]}
        | {"audio_codes": rng.integers(0, 1024, (3 + 2 * i, 4)).tolist(), "vector": rng.normal(size=3).tolist()}
        | {"ids": rng.integers(-(2**20), 2**20, i).tolist()}
        for i, (text, audio) in enumerate(zip(texts, recordings, strict=True))
    ]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in values), "utf-8")
    how = ("--mel", "none", "--waveform", "int16", "--peak", "none", "--frontend", "none", "--jobs", 1)
    arrays = {"audio_codes": "@own:12.5", "vector": "@utterance", "ids": "@own"}
    listed = [option for name, axis in arrays.items() for option in ("--list", name + axis)]
    status, _, err = run(capsys, "manifest", tmp_path / "list.jsonl", tmp_path / "s", *how, *listed)
    assert status == 0, err
    export(tmp_path / "s", layout, tmp_path / "out")
    file = {"jsonl": "train.jsonl", "nemo": "manifest.json", "parquet": "data", "lhotse": "cuts.jsonl.gz"}[layout]
    if layout == "lhotse":
        listed = [f"--array={name}{axis}={tmp_path / 'out/arrays' / name}" for name, axis in arrays.items()]
    status, _, err = run(capsys, "manifest", tmp_path / "out" / file, tmp_path / "again", *how, *listed)
    assert status == 0, err
    before, again = (UtteranceDataset(tmp_path / name).sort("id") for name in ("s", "again"))
    assert {name: spec for name, spec in before.arrays.items() if spec.added} == {
        name: spec for name, spec in again.arrays.items() if spec.added
    }
    for one, other in zip(before, again, strict=True):
        assert (one.id, one.text, one.speaker) == (other.id, other.text, other.speaker)
        assert json.dumps(one.meta) == json.dumps({name: other.meta[name] for name in one.meta})
        np.testing.assert_array_equal(one.waveform, other.waveform)
        for name in arrays:
            np.testing.assert_array_equal(one.arrays[name], other.arrays[name])


@pytest.mark.whole
def test_a_folder_of_espnet_has_no_measures_and_comes_back_without(store: Path, tmp_path: Path, capsys) -> None:
    again = from_kaldi(store, tmp_path, capsys, "espnet")
    assert not set(NAMES) & set(again.columns)
    assert not any(isinstance(value, float) and np.isnan(value) for u in again for value in u.meta.values())


@pytest.mark.whole
def test_measures_come_back_from_a_folder_of_kaldi(store: Path, tmp_path: Path, capsys) -> None:
    before = measures(store)
    again = from_kaldi(store, tmp_path, capsys, "kaldi")
    rows = [int(uid.partition("-u")[2]) for uid in sorted(again.id)]
    found = measures(again.path)
    assert "snr_db" in found
    for name, values in found.items():
        np.testing.assert_array_equal(values, before[name][rows])


def from_kaldi(store: Path, folder: Path, capsys: pytest.CaptureFixture[str], layout: str) -> UtteranceDataset:
    """Export a store, and return one that is built from the export."""
    export(store, layout, folder / "out")
    status, _, err = run(capsys, "kaldi", folder / "out", folder / "again", "--jobs", 1, "--max-failures", "100%")
    assert status == 0, err
    again = UtteranceDataset(folder / "again")
    assert len(again) >= 2
    return again
