"""Exports read by lhotse, datasets and webdataset, and what these write read by ``tts-prep manifest``.

Part of ``make test-frameworks``; these packages are not needed otherwise.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import soundfile
from commands import run
from corpora import speech_like, write_text
from stores import Row, make_rows, write_store

from tts_prep.export import export as export_store
from tts_prep.format.layout import shard_name

RATE = 22_050
N_FRAMES = [7, 3, 9, 12]
# Warnings of other libraries fail no test.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def lhotse() -> Any:
    return pytest.importorskip("lhotse")


@pytest.fixture
def datasets() -> Any:
    module = pytest.importorskip("datasets")
    module.disable_progress_bars()
    return module


@pytest.fixture
def webdataset() -> Any:
    return pytest.importorskip("webdataset")


@pytest.fixture(params=["int16 waveforms", "float16 mels, float32 waveforms"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    if request.param == "int16 waveforms":
        return make_rows(N_FRAMES)
    return make_rows(N_FRAMES, mel_dtype="float16", wav_dtype="float32")


@pytest.fixture
def store(tmp_path: Path, rows: list[Row]) -> Path:
    return write_store(tmp_path / "exported", rows, waveform=True)


def export(store: Path, layout: str) -> Path:
    folder = store.with_name(layout)
    assert export_store(store, layout, folder)
    return folder


def scaled(waveform: np.ndarray) -> np.ndarray:
    """Return samples as other libraries read them: float32, of integers their fraction of full scale."""
    return (waveform / 32_768).astype(np.float32) if waveform.dtype == np.int16 else waveform


def test_lhotse_reads_its_export(lhotse: Any, store: Path, rows: list[Row]) -> None:
    from lhotse.qa import validate

    cuts = lhotse.CutSet.from_file(export(store, "lhotse") / "cuts.jsonl.gz")
    validate(cuts, read_data=True)
    assert [cut.id for cut in cuts] == [row.id for row in rows]
    for position, (cut, row) in enumerate(zip(cuts, rows, strict=True)):
        (supervision,) = cut.supervisions
        assert (supervision.text, supervision.speaker) == (row.text, row.speaker)
        assert supervision.gender == row.gender
        pitch = 100.0 + position % 2  # in shards of two
        assert supervision.custom == {"phonemes": row.phoneme_text, "pitch": pitch}
        np.testing.assert_array_equal(cut.recording.load_audio()[0], scaled(row.waveform))
        np.testing.assert_array_equal(cut.features.load(), row.mel)
        # A cut is as long as its recording, and its features have the frames of that duration.
        np.testing.assert_array_equal(cut.load_audio()[0], scaled(row.waveform))
        np.testing.assert_array_equal(cut.load_features(), row.mel[: cut.num_frames])
        assert len(row.mel) - cut.num_frames in (0, 1)


def test_the_dataset_of_lhotse_for_speech_synthesis_reads_its_export(lhotse: Any, store: Path, rows: list[Row]) -> None:
    pytest.importorskip("torch")
    from lhotse.dataset import SpeechSynthesisDataset

    cuts = lhotse.CutSet.from_file(export(store, "lhotse") / "cuts.jsonl.gz")
    dataset = SpeechSynthesisDataset(return_text=False, return_tokens=True, return_spk_ids=True)
    batch = dataset[cuts.to_eager()]
    assert batch["speakers"] == [row.speaker for row in rows]
    assert ["".join(tokens) for tokens in batch["tokens"]] == [row.phoneme_text for row in rows]
    lengths = batch["features_lens"].tolist(), batch["audio_lens"].tolist()
    for i, (row, n_frames, n_samples) in enumerate(zip(rows, *lengths, strict=True)):
        np.testing.assert_array_equal(batch["features"][i, :n_frames].numpy(), row.mel[:n_frames])
        np.testing.assert_array_equal(batch["audio"][i, :n_samples].numpy(), scaled(row.waveform)[:n_samples])


def test_lhotse_reads_the_export_for_espnet_as_a_kaldi_folder(lhotse: Any, store: Path, rows: list[Row]) -> None:
    recordings, supervisions, _ = lhotse.kaldi.load_kaldi_data_dir(export(store, "espnet"), RATE)
    texts = {row.text: row for row in rows}
    assert len(recordings) == len(supervisions) == len(rows)
    for supervision in supervisions:
        row = texts[supervision.text]
        assert supervision.speaker == row.speaker
        samples = recordings[supervision.recording_id].load_audio()[0]
        # lhotse rounds durations of Kaldi's recordings down to milliseconds.
        assert 0 <= len(row.waveform) - len(samples) <= RATE / 1000
        np.testing.assert_array_equal(samples, scaled(row.waveform)[: len(samples)])


def test_datasets_reads_the_export_to_parquet(datasets: Any, store: Path, rows: list[Row], tmp_path: Path) -> None:
    files = sorted(map(str, (export(store, "parquet") / "data").iterdir()))
    dataset = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    # The folder too, as the Hub opens it, by the card.
    of_card = datasets.load_dataset(str(Path(files[0]).parents[1]), split="train", cache_dir=str(tmp_path / "other"))
    assert of_card.features == dataset.features
    # Without a cast; to decode needs another library.
    assert isinstance(dataset.features["audio"], datasets.Audio)
    assert dataset.features["audio"].sampling_rate == RATE
    dataset = dataset.cast_column("audio", datasets.Audio(decode=False)).with_format("numpy")
    assert len(dataset) == len(rows)
    for value, row in zip(dataset, rows, strict=True):
        assert [value[name] for name in ("id", "text", "phoneme_text", "speaker", "gender")] == [
            *(row.id, row.text, row.phoneme_text, row.speaker, row.gender),
        ]
        np.testing.assert_array_equal(value["phonemes"], row.phonemes)
        np.testing.assert_array_equal(np.stack(value["mel"]), row.mel)
        samples, rate = soundfile.read(io.BytesIO(value["audio"]["bytes"]), dtype=row.waveform.dtype.name)
        assert rate == RATE
        np.testing.assert_array_equal(samples, row.waveform)


def test_webdataset_reads_its_export(webdataset: Any, store: Path, rows: list[Row]) -> None:
    shards = sorted(map(str, export(store, "webdataset").iterdir()))
    found = list(webdataset.WebDataset(shards, shardshuffle=False).decode())
    assert [value["json"]["id"] for value in found] == [row.id for row in rows]
    for value, row in zip(found, rows, strict=True):
        description = value["json"]
        assert [description[name] for name in ("text", "phoneme_text", "speaker", "gender")] == [
            *(row.text, row.phoneme_text, row.speaker, row.gender),
        ]
        np.testing.assert_array_equal(value["mel.npy"], row.mel)
        np.testing.assert_array_equal(value["phonemes.npy"], row.phonemes)
        samples, rate = soundfile.read(io.BytesIO(value["wav"]), dtype=row.waveform.dtype.name)
        assert rate == RATE
        np.testing.assert_array_equal(samples, row.waveform)


TEXTS = ("One.", "He said two, and left.", "Three: the café was closed.", "Why four?")


class Files:
    """A corpus as plain files, and what a store of it holds."""

    def __init__(self, folder: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.rows: list[dict[str, str]] = []
        (folder / "wavs").mkdir(parents=True)
        for number, text in enumerate(TEXTS):
            path = folder / "wavs" / f"u{number}.{suffix}"
            soundfile.write(path, speech_like(0.3 + 0.15 * number, number, RATE), RATE)
            self.rows.append({"id": f"u{number}", "audio": str(path), "text": text, "speaker": "ab"[number % 2]})
        write_text(folder / "plain.jsonl", "".join(json.dumps(row) + "\n" for row in self.rows))
        self.content = self.store("plain", folder / "plain.jsonl")

    def store(self, name: str, *manifests: Path) -> dict[str, Any]:
        """Make a store of manifests; return the bytes of its arrays, and the statistics of its shard."""
        store = self.folder / f"store-{name}"
        status, _, err = run(self.capsys, "manifest", *manifests, store, "--waveform", "int16", "--jobs", 1)
        assert (status, err) == (0, "")
        content: dict[str, Any] = {}

        def add(name: str, item: object) -> None:
            # Keys of rows are hashes that include the path of the recording; the checksums are of all bytes.
            if isinstance(item, h5py.Dataset) and name not in ("checksums", "row_keys"):
                content[name] = item[()].tobytes() if item.shape else json.loads(item[()])

        with h5py.File(store / shard_name(0)) as file:
            file.visititems(add)
        # The rest of the header names the manifests.
        content["header"] = {
            name: content["header"][name] for name in ("mel_statistics", "vocabulary", "seconds", "failures")
        }
        assert {"mel", "phonemes", "waveform", "columns/id/bytes", "columns/text/bytes"} <= content.keys()
        return content

    def data(self, row: dict[str, str]) -> bytes:
        return Path(row["audio"]).read_bytes()


@pytest.fixture(params=["wav", "flac"])
def files(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path / "files", request.param, capsys)


def lhotse_manifests(lhotse: Any, files: Files) -> tuple[Any, Any]:
    """Return a RecordingSet and a SupervisionSet of lhotse."""
    recordings = [lhotse.Recording.from_file(row["audio"], recording_id=row["id"]) for row in files.rows]
    supervisions = [
        lhotse.SupervisionSegment(
            row["id"], row["id"], 0.0, recording.duration, channel=0, text=row["text"], speaker=row["speaker"]
        )
        for row, recording in zip(files.rows, recordings, strict=True)
    ]
    return lhotse.RecordingSet.from_recordings(recordings), lhotse.SupervisionSet.from_segments(supervisions)


@pytest.mark.parametrize("name", ["cuts.jsonl", "cuts.jsonl.gz"])
def test_cuts_of_lhotse_give_the_store_of_plain_files(lhotse: Any, files: Files, tmp_path: Path, name: str) -> None:
    recordings, supervisions = lhotse_manifests(lhotse, files)
    lhotse.CutSet.from_manifests(recordings, supervisions).modify_ids(lambda uid: uid.split("-")[0]).to_file(
        tmp_path / name
    )
    assert files.store("cuts", tmp_path / name) == files.content


def test_supervisions_and_recordings_of_lhotse_give_the_store_of_plain_files(
    lhotse: Any, files: Files, tmp_path: Path
) -> None:
    recordings, supervisions = lhotse_manifests(lhotse, files)
    recordings.to_file(tmp_path / "recordings.jsonl.gz")
    supervisions.to_file(tmp_path / "supervisions.jsonl.gz")
    found = files.store("supervisions", tmp_path / "recordings.jsonl.gz", tmp_path / "supervisions.jsonl.gz")
    assert found == files.content


def test_segments_that_lhotse_cuts_out_of_a_recording_give_the_store_of_files_of_them(
    lhotse: Any, files: Files, tmp_path: Path
) -> None:
    samples = [soundfile.read(row["audio"], dtype="int16")[0] for row in files.rows]
    soundfile.write(tmp_path / "long.flac", np.concatenate(samples), RATE)
    recording = lhotse.Recording.from_file(tmp_path / "long.flac")
    supervisions, start = [], 0
    for row, clip in zip(files.rows, samples, strict=True):
        span = (start / RATE, len(clip) / RATE)
        said = lhotse.SupervisionSegment(row["id"], recording.id, *span, text=row["text"], speaker=row["speaker"])
        supervisions.append(said)
        start += len(clip)
    cuts = lhotse.CutSet.from_manifests(
        lhotse.RecordingSet.from_recordings([recording]), lhotse.SupervisionSet.from_segments(supervisions)
    )
    cuts.to_file(tmp_path / "one.jsonl.gz")
    assert files.store("one", tmp_path / "one.jsonl.gz") == files.content
    trimmed = cuts.trim_to_supervisions(keep_overlapping=False)
    names = iter(row["id"] for row in files.rows)
    trimmed.modify_ids(lambda _: next(names)).to_file(tmp_path / "trimmed.jsonl.gz")
    assert files.store("trimmed", tmp_path / "trimmed.jsonl.gz") == files.content


def hugging_face(datasets: Any, files: Files) -> Any:
    """Return a Dataset of datasets, whose recordings are paths."""
    columns = {name: [row[name] for row in files.rows] for name in files.rows[0]}
    return datasets.Dataset.from_dict(columns).cast_column("audio", datasets.Audio())


def test_parquet_of_datasets_gives_the_store_of_plain_files(datasets: Any, files: Files, tmp_path: Path) -> None:
    from datasets.table import embed_table_storage

    hugging_face(datasets, files).to_parquet(tmp_path / "paths.parquet")
    assert files.store("paths", tmp_path / "paths.parquet") == files.content
    # As on the hub: the recordings are inside.
    embedded = hugging_face(datasets, files).with_format("arrow").map(embed_table_storage, batched=True)
    embedded.to_parquet(tmp_path / "train.parquet")
    shutil.rmtree(files.folder / "wavs")
    assert files.store("parquet", tmp_path / "train.parquet") == files.content


def test_a_dataset_saved_to_disk_gives_the_store_of_plain_files(datasets: Any, files: Files, tmp_path: Path) -> None:
    hugging_face(datasets, files).save_to_disk(tmp_path / "saved", num_shards=2)
    shutil.rmtree(files.folder / "wavs")
    assert files.store("saved", tmp_path / "saved") == files.content
    # What datasets caches of a loaded dataset lies beside it.
    datasets.load_from_disk(tmp_path / "saved").select_columns("text").map(lambda row: {"length": len(row["text"])})
    assert list((tmp_path / "saved").glob("cache-*.arrow"))
    assert files.store("cached", tmp_path / "saved") == files.content


def test_several_splits_saved_to_disk_are_given_one_by_one(datasets: Any, files: Files, tmp_path: Path) -> None:
    dataset = hugging_face(datasets, files)
    splits = {"train": dataset.select([0, 1]), "test": dataset.select([2, 3])}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "dict")
    assert files.store("dict", tmp_path / "dict" / "train", tmp_path / "dict" / "test") == files.content
    status, _, err = run(files.capsys, "manifest", tmp_path / "dict", tmp_path / "store")
    assert (status, err) == (1, f"tts-prep: error: {tmp_path / 'dict'}: no manifest in this folder; give test, train\n")


@pytest.mark.parametrize("described", ["json", "txt"])
def test_archives_of_webdataset_give_the_store_of_plain_files(
    webdataset: Any, files: Files, tmp_path: Path, described: str
) -> None:
    (tmp_path / "tars").mkdir()
    with webdataset.ShardWriter(str(tmp_path / "tars" / "%06d.tar"), maxcount=3, verbose=0) as writer:
        for row in files.rows:
            suffix = Path(row["audio"]).suffix[1:]
            value = {"text": row["text"], "speaker": row["speaker"]} if described == "json" else row["text"]
            writer.write({"__key__": row["id"], suffix: files.data(row), described: value})
    assert len(list((tmp_path / "tars").iterdir())) == 2
    found = files.store("tars", tmp_path / "tars")
    if described == "json":
        assert found == files.content
    else:
        arrays = ("mel", "waveform", "phonemes", "columns/id/bytes", "columns/text/bytes")
        assert [found[name] for name in arrays] == [files.content[name] for name in arrays]
