"""Exports for Kaldi, read by kaldiio, checked by the rules of Kaldi's own script, and read back."""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from stores import SAMPLE_RATE, Row, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_columns
from tts_prep.recipes.kaldi_files import parse_ark_entry, read_ark, read_table
from tts_prep.recipes.speechain.features_and_labels import SpeechTextDataset


@pytest.fixture(params=["int16", "float32"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    made = make_rows([7, 3, 9, 12, 5], wav_dtype=request.param)
    # Speakers and ids whose orders differ, and texts with what Kaldi refuses.
    names = [("1034", "a b"), ("103", "z"), ("anna-2", "1"), ("anna", "anna-1"), ("ÿ", "日本")]
    texts = ["a\tb", "<s> one </s>", "soft­hyphen\x07", "　wide　space ", "#0 (#0) x#0"]
    return [
        replace(row, speaker=speaker, id=uid, text=text)
        for row, (speaker, uid), text in zip(made, names, texts, strict=True)
    ]


@pytest.fixture
def folder(tmp_path: Path, rows: list[Row]) -> Path:
    export(write_store(tmp_path / "s", rows, waveform=True), "kaldi", tmp_path / "data")
    return tmp_path / "data"


def test_a_matrix_has_the_bytes_of_kaldis_format(folder: Path, rows: list[Row]) -> None:
    place, offset = parse_ark_entry(read_table(folder / "feats.scp")["1034-a_b"]) or ("", 0)
    content = Path(place).read_bytes()
    assert content[offset - 9 : offset] == b"1034-a_b "
    # Matrix<float>::Write: a binary mark, the token "FM ", and both sizes, each behind the number of its bytes.
    assert content[offset : offset + 15] == b"\0BFM \4" + struct.pack("<i", 7) + b"\4" + struct.pack("<i", 5)
    np.testing.assert_array_equal(np.frombuffer(content, "<f4", 35, offset + 15).reshape(7, 5), rows[0].mel)


def test_kaldiio_reads_features_and_recordings(folder: Path, rows: list[Row]) -> None:
    kaldiio = pytest.importorskip("kaldiio")
    features, recordings = (kaldiio.load_scp(str(folder / name)) for name in ("feats.scp", "wav.scp"))
    ids = list(read_table(folder / "utt2spk"))
    assert sorted(features) == sorted(recordings) == sorted(ids)
    by_text = {len(row.mel): row for row in rows}
    for name in ids:
        row = by_text[len(features[name])]
        np.testing.assert_array_equal(features[name], row.mel)
        rate, samples = recordings[name]
        expected = row.waveform if row.waveform.dtype == np.int16 else np.rint(row.waveform * 32_768)
        assert (rate, samples.dtype) == (SAMPLE_RATE, np.int16)
        np.testing.assert_array_equal(samples, np.clip(expected, -32_768, 32_767))
    assert {name: len(matrix) for name, matrix in kaldiio.load_ark(str(folder / "feats.ark"))} == {
        name: len(features[name]) for name in ids
    }


def test_tables_are_sorted_in_bytes_by_utterance_and_by_speaker(folder: Path) -> None:
    names = ("feats.scp", "wav.scp", "text", "utt2spk", "utt2num_frames", "utt2dur")
    tables = {name: [line.split(b" ")[0] for line in (folder / name).read_bytes().splitlines()] for name in names}
    assert len({tuple(ids) for ids in tables.values()}) == 1
    assert tables["utt2spk"] == sorted(tables["utt2spk"])
    speakers = list(read_table(folder / "utt2spk").values())
    assert speakers == sorted(speakers, key=str.encode) == ["103", "1034", "anna", "anna_2", "ÿ"]
    assert read_table(folder / "text") == {
        "103-z": "one",
        "1034-a_b": "a b",
        "anna-1": "wide space",
        "anna_2-1": "softhyphen",
        "ÿ-日本": "() x#0",
    }
    assert {soundfile.info(str(path)).subtype for path in (folder / "wavs").iterdir()} == {"PCM_16"}


def test_the_script_of_kaldi_accepts_the_folder(folder: Path) -> None:
    recipe = Path(os.environ.get("KALDI_ROOT", "kaldi")).resolve() / "egs" / "wsj" / "s5"
    if not (recipe / "utils" / "validate_data_dir.sh").exists():
        pytest.skip("KALDI_ROOT is no checkout of Kaldi")
    # The script looks for characters that do not print in one of two locales, which not every system has.
    command = ["bash", recipe / "utils" / "validate_data_dir.sh", "--non-print", folder]
    done = subprocess.run(command, cwd=recipe, capture_output=True)
    other = ["grep", "-c", "[^[:print:][:space:]]", folder / "text"]
    found = subprocess.run(other, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True)
    assert found.stdout == b"0\n"
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert b"Successfully validated" in done.stdout + done.stderr


def test_a_store_without_waveforms_has_no_recordings(tmp_path: Path) -> None:
    export(write_store(tmp_path / "s", make_rows([4, 5])), "kaldi", tmp_path / "data")
    assert not (tmp_path / "data" / "wav.scp").exists()
    assert len(read_table(tmp_path / "data" / "feats.scp")) == 2


def test_a_column_of_the_corpus_is_a_table_that_replaces_none_of_kaldi(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", make_rows([7, 3, 9]), waveform=True)
    ids = list(UtteranceDataset(path).id)
    add_columns(path, {"id": ids, "dur": ["long", "", "short"], "mood": ["sad", "glad", ""], "language": ["en"] * 3})
    export(path, "kaldi", tmp_path / "data")
    names = list(read_table(tmp_path / "data" / "feats.scp"))
    tables = {file.name: read_table(file) for file in (tmp_path / "data").glob("utt2*")}
    assert sorted(tables["utt2mood"].values()) == ["glad", "sad"]
    assert sorted(tables["utt2corpus_dur"].values()) == ["long", "short"]
    assert set(tables["utt2dur"]) == set(names)
    assert set(tables["utt2lang"].values()) == {"en"}
    assert "utt2language" not in tables


def test_speechain_reads_archives(folder: Path, rows: list[Row], tmp_path: Path) -> None:
    dataset = SpeechTextDataset(str(folder / "feats.scp"))
    assert {len(dataset.get_example(i)["feat"]) for i in range(5)} == {len(row.mel) for row in rows}
    moved = tmp_path / "moved"
    folder.rename(moved)
    table = (moved / "feats.scp").read_text(encoding="utf-8").replace(f"{folder}/", "")
    (moved / "feats.scp").write_text(table.replace(" ", "\t"), encoding="utf-8")
    assert SpeechTextDataset(str(moved / "feats.scp")).lengths.tolist() == dataset.lengths.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"key \0BCM " + bytes(20), "expected a binary matrix of floats, found b'.*BCM '; compressed"),
        (b"key  [ 1 2 ]\n", "expected a binary matrix"),
        (b"key \0BFM \4" + struct.pack("<i", 2**30) + b"\4" + struct.pack("<i", 2**30), "ends before its"),
        (b"key \0BFM \4" + struct.pack("<i", -1) + b"\4" + struct.pack("<i", 4), "ends before its"),
        (b"key \0BFM \4\0", "expected a binary matrix"),
        (None, "cannot be read as a Kaldi archive"),
    ],
)
def test_an_archive_that_is_none_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "a.ark"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        read_ark(path, 4)


def test_a_compressed_archive_is_read_after_it_is_written_without_compression(tmp_path: Path) -> None:
    path = tmp_path / "a.ark"
    # Kaldi's kTwoByteAuto: the least value, the range, rows and columns, then 65535ths of the range.
    codes = np.array([[0, 65535], [13107, 26214]], "<u2")
    path.write_bytes(b"k \0BCM2 " + struct.pack("<ffii", -1, 5, 2, 2) + codes.tobytes())
    with pytest.raises(ConfigurationError, match="write them with 'copy-feats --compress=false'"):
        read_ark(path, 2)
    # What copy-feats writes of it then: its FM, with the sizes as integers of 4 bytes.
    values = (-1 + 5 * codes.astype(np.float64) / 65535).astype("<f4")
    path.write_bytes(b"k \0BFM \4" + struct.pack("<i", 2) + b"\4" + struct.pack("<i", 2) + values.tobytes())
    np.testing.assert_allclose(read_ark(path, 2), [[-1, 4], [0, 1]], atol=1e-6)


def test_a_matrix_of_doubles_is_read(tmp_path: Path) -> None:
    values = np.arange(6.0).reshape(2, 3)
    header = b"k \0BDM \4" + struct.pack("<i", 2) + b"\4" + struct.pack("<i", 3)
    (tmp_path / "a.ark").write_bytes(header + values.tobytes())
    np.testing.assert_array_equal(read_ark(tmp_path / "a.ark", 2), values)


def test_tabs_and_spaces_separate_alike(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a\tone two\nb  \t three\tfour\nc\n　d e\n", encoding="utf-8")
    assert read_table(path) == {"a": "one two", "b": "three\tfour", "c": "", "d": "e"}
