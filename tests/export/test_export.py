"""Exported stores, read by the libraries of the other systems."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from commands import run
from stores import HOP_LENGTH, SAMPLE_RATE, Row, make_rows, write_store

from tts_prep.additions.add_columns import add_index_array
from tts_prep.errors import ConfigurationError
from tts_prep.export import LAYOUTS
from tts_prep.export import export as export_store
from tts_prep.export.rows import export_rows, unique_names, wav_bytes
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_array, add_columns
from tts_prep.preprocess.configuration.records import Configuration, TextConfig

N_FRAMES = [7, 3, 9]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    first, second, third = make_rows(N_FRAMES)
    # Ids that are no file names, and two that become the same one.
    return [replace(first, id="../../a b"), replace(second, id="../../a?b"), replace(third, id="c.d")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    return write_store(tmp_path_factory.mktemp("store") / "s", rows, n_shards=2, waveform=True)


def export(store: Path, layout: str, folder: Path) -> Path:
    files = export_store(store, layout, folder)
    assert files
    assert all(file.resolve().is_relative_to(folder.resolve()) and file.is_file() for file in files)
    return folder


def test_every_layout_is_a_choice_of_the_command(
    capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path
) -> None:
    _, out, _ = run(capsys, "export", "--help")
    assert all(layout in out for layout in LAYOUTS)
    status, out, _ = run(capsys, "export", store, tmp_path / "out", "--to", "nemo")
    assert (status, out) == (0, f"{tmp_path / 'out'}: 4 files in the layout of nemo\n")
    status, _, err = run(capsys, "export", store, tmp_path / "out", "--to", "nemo")
    assert (status, "not empty; use a new folder" in err) == (2, True)


def test_nemo_has_a_manifest_with_paths_relative_to_it(store: Path, rows: list[Row], tmp_path: Path) -> None:
    folder = export(store, "nemo", tmp_path / "nemo")
    lines = [json.loads(line) for line in (folder / "manifest.json").read_text(encoding="utf-8").splitlines()]
    assert [(line["id"], line["text"]) for line in lines] == [(row.id, row.text) for row in rows]
    assert len({line["audio_filepath"] for line in lines}) == 3
    speakers = sorted({row.speaker for row in rows})
    assert len(speakers) > 1
    assert [(line["speaker"], line["speaker_name"], line["phonemes"]) for line in lines] == [
        (speakers.index(row.speaker), row.speaker, row.phoneme_text) for row in rows
    ]
    for line, row in zip(lines, rows, strict=True):
        samples, rate = soundfile.read(folder / line["audio_filepath"], dtype="int16")
        np.testing.assert_array_equal(samples, row.waveform)
        assert line["duration"] == pytest.approx(len(samples) / rate)


def test_espnet_has_sorted_tables_whose_names_begin_with_the_speaker(
    store: Path, rows: list[Row], tmp_path: Path
) -> None:
    folder = export(store, "espnet", tmp_path / "espnet")
    tables = {name: (folder / name).read_bytes().splitlines() for name in ("wav.scp", "text", "utt2spk", "phn_text")}
    for lines in tables.values():
        assert lines == sorted(lines)
        assert len(lines) == 3
    for line in tables["utt2spk"]:
        name, speaker = line.decode().split(" ")
        assert name.startswith(speaker)
    paths = [line.decode().split(" ", 1)[1] for line in tables["wav.scp"]]
    assert {len(soundfile.read(path)[0]) for path in paths} == {len(row.waveform) for row in rows}


def test_espnet_has_the_order_of_utterances_that_speakers_have(tmp_path: Path) -> None:
    # Ids of LibriTTS; b"103_" > b"1034".
    ids = ["103_1240_000000_000001", "1034_121119_000010_000001", "1034-121119", "10"]
    speakers = ["103", "1034", "1034", "10"]
    rows = [
        replace(row, id=uid, speaker=speaker)
        for row, uid, speaker in zip(make_rows([5, 6, 7, 8]), ids, speakers, strict=True)
    ]
    folder = export(write_store(tmp_path / "s", rows, waveform=True), "espnet", tmp_path / "out")
    pairs = [line.split(b" ") for line in (folder / "utt2spk").read_bytes().splitlines()]
    assert [speaker for _, speaker in pairs] == [b"10", b"103", b"1034", b"1034"]
    assert pairs == sorted(pairs)
    assert pairs[2][0] == b"1034-1034_121119_000010_000001"
    assert pairs[1][0] == b"103-103_1240_000000_000001"


def test_espnet_has_one_order_of_speakers_whose_names_start_alike_and_no_two_with_one_name(tmp_path: Path) -> None:
    speakers = ["anna", "anna-2", "anna!", "anna b", "anna_b", "anna.c", "annaB", "Änna"]
    rows = [replace(row, id=f"u{i}", speaker=speakers[i]) for i, row in enumerate(make_rows([5] * len(speakers)))]
    folder = export(write_store(tmp_path / "s", rows, waveform=True), "espnet", tmp_path / "out")
    pairs = [line.split(b" ") for line in (folder / "utt2spk").read_bytes().splitlines()]
    assert len({speaker for _, speaker in pairs}) == len(speakers)
    # As Kaldi's validate_data_dir.sh requires.
    assert pairs == sorted(pairs) == sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    found = [line.split(b" ") for line in (folder / "spk2utt").read_bytes().splitlines()]
    assert found == [[speaker, utterance] for utterance, speaker in pairs]


def test_espnet_has_a_line_for_each_of_the_ids_with_and_without_their_speaker(tmp_path: Path) -> None:
    rows = [replace(row, id=uid, speaker="anna") for row, uid in zip(make_rows([5, 6]), ("anna-1", "1"), strict=True)]
    folder = export(write_store(tmp_path / "s", rows, waveform=True), "espnet", tmp_path / "out")
    lines = (folder / "wav.scp").read_text(encoding="utf-8").splitlines()
    found = dict(line.split(" ", 1) for line in lines)
    assert sorted(len(soundfile.read(path)[0]) for path in found.values()) == [len(row.waveform) for row in rows]
    assert (folder / "spk2utt").read_text(encoding="utf-8") == f"anna {' '.join(sorted(found))}\n"


def test_espnet_has_the_utterances_of_a_speaker_in_order_and_no_lines_without_text(tmp_path: Path) -> None:
    first, second = make_rows([5, 6])
    rows = [replace(first, id="b", speaker="anna"), replace(second, id="a", speaker="anna", text=" ")]
    folder = export(write_store(tmp_path / "s", rows, waveform=True), "espnet", tmp_path / "out")
    tables = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    assert tables["spk2utt"] == "anna anna-a anna-b\n"
    assert tables["text"] == f"anna-b {first.text}\n"
    lengths = len(second.waveform), len(first.waveform)
    assert tables["utt2num_samples"] == "anna-a {}\nanna-b {}\n".format(*lengths)


def test_webdataset_has_the_files_of_a_row_beside_each_other(store: Path, rows: list[Row], tmp_path: Path) -> None:
    folder = export(store, "webdataset", tmp_path / "wds")
    with tarfile.open(folder / "000000.tar") as archive:
        members = [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    keys = [name.partition(".")[0] for name, _ in members]
    assert [keys[i : i + 4] for i in (0, 4, 8)] == [[key] * 4 for key in dict.fromkeys(keys)]
    mels = [np.load(io.BytesIO(data)) for name, data in members if name.endswith(".mel.npy")]
    for mel, row in zip(mels, rows, strict=True):
        np.testing.assert_array_equal(mel, row.mel)
    ids = [json.loads(data)["id"] for name, data in members if name.endswith(".json")]
    assert ids == [row.id for row in rows]


@pytest.mark.parametrize("layout", ["nemo", "espnet", "lhotse", "webdataset"])
def test_ids_that_become_one_name_or_are_too_long_for_one_have_different_names(tmp_path: Path, layout: str) -> None:
    ids = ["a.b", "a_b", "a_b_1", "é" * 150 + "1", "é" * 150 + "2", "字" * 200]
    rows = [replace(row, id=uid) for row, uid in zip(make_rows([5] * len(ids)), ids, strict=True)]
    store = write_store(tmp_path / "s", rows, waveform=True)
    folder = export(store, layout, tmp_path / "out")
    dataset = UtteranceDataset(store)
    names = [row.name for row in export_rows(dataset, dots=False, max_bytes=80)]
    assert len(set(names)) == len(ids)
    assert max(len(name.encode()) for name in names) <= 80
    if layout == "webdataset":
        with tarfile.open(folder / "000000.tar") as archive:
            assert len({name.partition(".")[0] for name in archive.getnames()}) == len(ids)
    else:
        assert len(list(folder.rglob("*.wav"))) == len(ids)


def test_names_of_files_differ_after_everything_that_shortens_them() -> None:
    texts = ["a.b", "a_b", "a_b_1", "ab" * 30, "ab" * 31, "../x"]
    assert list(unique_names(texts, dots=False, max_bytes=10)) == [
        *("a_b", "a_b_1", "a_b_1_2", "ababababab", "abababab_4", "_x"),
    ]
    assert list(unique_names(texts[:2])) == ["a.b", "a_b"]
    assert list(unique_names(["a_2", "a", "a"])) == ["a_2", "a", "a_2_2"]


def test_names_of_files_differ_on_disks_that_ignore_case_or_the_form_of_a_character() -> None:
    texts = ["Anna", "anna", "ANNA_1", "\u212bke", "\u00e5ke", "\uac00", "\u1100\u1161"]
    names = [*unique_names(texts)]
    # macOS compares names in NFD and without case, and Windows without case.
    assert len({unicodedata.normalize("NFD", name).lower() for name in names}) == len(texts)
    assert [names[0], names[3], names[5]] == ["Anna", "\u212bke", "\uac00"]


def test_a_column_of_languages_that_are_numbers_is_one_of_texts_in_parquet(tmp_path: Path) -> None:
    rows = make_rows([5, 6])
    store = write_store(tmp_path / "store", rows)
    add_columns(store, {"id": [row.id for row in rows], "language": [1.0, 2.0]})
    folder = export(store, "parquet", tmp_path / "out")
    assert pq.read_table(folder / "data/train-00000.parquet")["language"].to_pylist() == ["1.0", "2.0"]


def test_a_cut_of_lhotse_ends_with_its_mel(tmp_path: Path) -> None:
    (row,) = make_rows([7])
    longer = replace(row, waveform=np.zeros(7 * HOP_LENGTH + 100, np.int16))
    folder = export(write_store(tmp_path / "s", [longer], waveform=True), "lhotse", tmp_path / "out")
    cut = json.loads(gzip.decompress((folder / "cuts.jsonl.gz").read_bytes()))
    seconds = 7 * HOP_LENGTH / SAMPLE_RATE
    assert cut["duration"] == cut["supervisions"][0]["duration"] == cut["features"]["duration"] == seconds
    assert cut["recording"]["duration"] == (7 * HOP_LENGTH + 100) / SAMPLE_RATE
    assert cut["supervisions"][0]["speaker"] == row.speaker


def test_large_stores_become_several_archives_and_files_of_several_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("parquet._GROUP_BYTES", 1), ("parquet._FILE_GROUPS", 4), ("webdataset._ROWS", 3)):
        monkeypatch.setattr(f"tts_prep.export.{name}", value)
    rows = make_rows([3] * 7)
    store = write_store(tmp_path / "s", rows)
    files = sorted((export(store, "parquet", tmp_path / "hf") / "data").iterdir())
    tables = [pq.ParquetFile(file) for file in files]
    groups = [[table.metadata.row_group(i).num_rows for i in range(table.num_row_groups)] for table in tables]
    assert groups == [[1] * 4, [1] * 3]
    assert [uid for table in tables for uid in table.read().column("id").to_pylist()] == [row.id for row in rows]
    found = []
    for file in sorted(export(store, "webdataset", tmp_path / "wds").iterdir()):
        with tarfile.open(file) as archive:
            found.append([json.load(archive.extractfile(name))["id"] for name in archive.getnames() if "json" in name])
    assert found == [[row.id for row in rows[start : start + 3]] for start in (0, 3, 6)]


def test_lhotse_has_cuts_of_whole_frames_with_features_and_recordings(
    store: Path, rows: list[Row], tmp_path: Path
) -> None:
    folder = export(store, "lhotse", tmp_path / "lhotse")
    text = gzip.decompress((folder / "cuts.jsonl.gz").read_bytes()).decode()
    cuts = [json.loads(line) for line in text.splitlines()]
    for cut, row in zip(cuts, rows, strict=True):
        features = cut["features"]
        mel = np.load(Path(features["storage_path"]) / features["storage_key"])
        np.testing.assert_array_equal(mel, row.mel)
        assert features["num_frames"] == round(features["duration"] / features["frame_shift"]) == len(mel)
        samples, rate = soundfile.read(cut["recording"]["sources"][0]["source"], dtype="int16")
        np.testing.assert_array_equal(samples, row.waveform)
        assert cut["duration"] <= min(len(samples) / rate, features["duration"])
        (supervision,) = cut["supervisions"]
        assert (supervision["text"], supervision["gender"]) == (row.text, row.gender)
        assert supervision["custom"].keys() == {"pitch", "phonemes"}


def test_parquet_has_recordings_as_hugging_face_stores_them(store: Path, rows: list[Row], tmp_path: Path) -> None:
    folder = export(store, "parquet", tmp_path / "hf")
    table = pq.read_table(folder / "data" / "train-00000.parquet").to_pylist()
    for value, row in zip(table, rows, strict=True):
        assert (value["id"], value["phonemes"]) == (row.id, row.phonemes.tolist())
        np.testing.assert_array_equal(np.array(value["mel"], np.float32), row.mel)
        samples, _ = soundfile.read(io.BytesIO(value["audio"]["bytes"]), dtype="int16")
        np.testing.assert_array_equal(samples, row.waveform)


@pytest.mark.whole
@pytest.mark.parametrize("layout", ["nemo", "lhotse", "webdataset", "parquet"])
def test_an_export_is_a_manifest_of_the_same_utterances(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, layout: str
) -> None:
    rows = [replace(row, id=f"u{i}") for i, row in enumerate(make_rows([30, 40]))]
    store = write_store(tmp_path / "s", rows, waveform=True)
    folder = export(store, layout, tmp_path / "out")
    manifest = {"nemo": folder / "manifest.json", "lhotse": folder / "cuts.jsonl.gz"}.get(layout, folder)
    status, out, _ = run(capsys, "manifest", manifest, tmp_path / "again", "--jobs", 1, "--waveform", "int16")
    assert (status, "not read, because they are arrays: phonemes, mel" in out) == (0, layout == "parquet")
    again = UtteranceDataset(tmp_path / "again")
    assert [(u.id, u.text) for u in again] == [(row.id, row.text) for row in rows]
    assert "mel" not in again.columns
    for utterance, row in zip(again, rows, strict=True):
        # --peak scales them.
        scale = 0.999 * 32_768 / np.abs(row.waveform.astype(float)).max()
        np.testing.assert_allclose(utterance.waveform, row.waveform * scale, atol=1)


def exported_rows(folder: Path, layout: str) -> list[dict[str, Any]]:
    """Return the columns of each row of an export, as JSON or parquet has them."""
    if layout == "nemo":
        return [json.loads(line) for line in (folder / "manifest.json").read_text(encoding="utf-8").splitlines()]
    if layout == "lhotse":
        lines = gzip.decompress((folder / "cuts.jsonl.gz").read_bytes()).splitlines()
        return [json.loads(line)["supervisions"][0]["custom"] for line in lines]
    if layout == "webdataset":
        with tarfile.open(folder / "000000.tar") as archive:
            members = [member for member in archive if member.name.endswith(".json")]
            return [json.load(archive.extractfile(member)) for member in members]  # type: ignore[arg-type]
    return pq.read_table(folder / "data" / "train-00000.parquet").to_pylist()


@pytest.mark.parametrize("layout", ["nemo", "lhotse", "webdataset", "parquet"])
def test_infinite_numbers_are_exported_and_missing_ones_are_left_out(tmp_path: Path, layout: str) -> None:
    store = write_store(tmp_path / "s", make_rows(N_FRAMES), waveform=True)
    spec = ArraySpec("measures", "float64", (1,), "utterance", index_columns=("loudness_lufs",))
    add_index_array(store, lambda _: spec, lambda: np.array([[-np.inf], [-20.5], [np.nan]]))
    folder = export(store, layout, tmp_path / "out")
    found = [row.get("loudness_lufs") for row in exported_rows(folder, layout)]
    assert found == [-np.inf if layout == "parquet" else "-inf", -20.5, None]
    # JSON has no word for it.
    assert not any(b"Infinity" in file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("layout", ["nemo", "lhotse", "webdataset", "parquet", "kaldi"])
def test_an_export_has_no_offsets_of_arrays(tmp_path: Path, layout: str) -> None:
    settings = Configuration(text=TextConfig("characters")).as_dict()
    store = write_store(tmp_path / "s", make_rows(N_FRAMES), waveform=True, configuration=settings)
    add_array(store, "speech_tokens", lambda utterance: np.arange(5, dtype=np.int16), dtype="int16", axis="own")
    add_columns(store, {"id": list(UtteranceDataset(store).id), "score": [1.5, 2.5, 3.5]})
    folder = export(store, layout, tmp_path / "out")
    if layout == "kaldi":
        names = {path.name.removeprefix("utt2") for path in folder.glob("utt2*")}
    else:
        names = {name for row in exported_rows(folder, layout) for name in row}
    assert "score" in names
    assert [name for name in names if "speech_tokens" in name] == ["speech_tokens"] * (layout in ("nemo", "parquet"))


@pytest.mark.parametrize(
    ("layout", "renamed"),
    [
        ("nemo", ["audio_filepath", "duration", "phonemes", "speaker_name", "offset"]),
        ("lhotse", ["phonemes"]),
        ("webdataset", ["duration"]),
        ("parquet", ["audio", "mel", "phonemes"]),
    ],
)
def test_a_column_of_the_corpus_with_a_name_of_the_layout_is_kept_with_another_name(
    tmp_path: Path, layout: str, renamed: list[str]
) -> None:
    names = ("audio", "audio_filepath", "duration", "mel", "offset", "phonemes", "speaker_name", "corpus_mel")
    store = write_store(tmp_path / "s", make_rows(N_FRAMES), waveform=True)
    spec = ArraySpec("measures", "float64", (len(names),), "utterance", index_columns=names)
    add_index_array(store, lambda _: spec, lambda: np.arange(3 * len(names)).reshape(3, -1) + 0.5)
    folder = export(store, layout, tmp_path / "out")
    row = exported_rows(folder, layout)[1]
    if layout == "nemo":
        assert row["audio_filepath"].startswith("wavs/")
    elif layout == "parquet":
        assert len(row["mel"]) == N_FRAMES[1]
    for number, name in enumerate(names):
        # The store also has a column 'corpus_mel'.
        new = {"mel": "corpus_corpus_mel"}.get(name, f"corpus_{name}") if name in renamed else name
        assert row[new] == len(names) + number + 0.5


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
def test_a_wav_file_holds_the_samples_as_they_are(dtype: type) -> None:
    samples = np.array([0, 1, -1, 12345], np.int16) if dtype is np.int16 else np.array([0, 1.5, -1e-9], np.float32)
    data = wav_bytes(samples, 24000)
    found, rate = soundfile.read(io.BytesIO(data), dtype=samples.dtype.name)
    assert rate == 24000
    # Bytes per second; and the number of samples in 'fact', which formats other than integer PCM require.
    assert int.from_bytes(data[28:32], "little") == 24000 * samples.dtype.itemsize
    fact = b"fact" + (4).to_bytes(4, "little") + len(samples).to_bytes(4, "little")
    assert (fact in data) == (dtype is np.float32)
    np.testing.assert_array_equal(found, samples)


@pytest.mark.parametrize("layout", ["nemo", "espnet"])
def test_a_store_without_waveforms_says_so(tmp_path: Path, layout: str) -> None:
    store = write_store(tmp_path / "s", make_rows(N_FRAMES))
    with pytest.raises(ConfigurationError, match="and the store has no waveforms; .* with --update --waveform"):
        export_store(store, layout, tmp_path / "out")
    assert not (tmp_path / "out").exists()
