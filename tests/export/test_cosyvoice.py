"""CosyVoice's parquet files have the columns that its make_parquet_list.py writes, and its processor reads."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from commands import run
from stores import make_rows, write_store

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.imports.arrays import make_imported
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_array, remove_columns
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance


@pytest.fixture
def with_arrays(corpus: Path, tmp_path: Path) -> Path:
    store = tmp_path / "store"
    rows = [
        SourceUtterance(f"u{i}", f"Text {i}.", f"wavs/S-{i:04d}.wav", "here", ("anna", "bert")[i % 2]) for i in range(5)
    ]
    config = Configuration(text=TextConfig("characters"), store=StoreConfig(shard_utterances=2, waveform_dtype="int16"))
    prepare(rows, corpus, store, config)
    rng, vectors, tokens = np.random.default_rng(0), {}, {}
    for i in range(5):
        vectors[f"u{i}"] = rng.normal(size=6).astype(np.float32)
        tokens[f"u{i}"] = rng.integers(0, 4096, 10 + i).astype(np.int16)
    np.savez(tmp_path / "vectors.npz", **vectors)
    np.savez(tmp_path / "tokens.npz", **tokens)
    add_features(store, [make_imported(f"speaker_vector@utterance={tmp_path / 'vectors.npz'}")])
    add_features(store, [make_imported(f"speech_tokens@own:25={tmp_path / 'tokens.npz'}")])
    return store


@pytest.mark.whole
def test_rows_have_recordings_tokens_vectors_and_the_means_of_speakers(with_arrays: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    files = export(with_arrays, "cosyvoice", tmp_path / "out")
    assert [path.name for path in files] == ["parquet_000000000.tar", "data.list"]
    listed = (tmp_path / "out/data.list").read_text().splitlines()
    assert listed == [str(tmp_path / "out/parquet_000000000.tar")]
    rows = parquet.read_table(listed[0]).to_pylist()
    dataset = UtteranceDataset(with_arrays)
    vectors = np.load(tmp_path / "vectors.npz")
    tokens = np.load(tmp_path / "tokens.npz")
    of_speaker = {"anna": ["u0", "u2", "u4"], "bert": ["u1", "u3"]}
    assert [row["utt"] for row in rows] == list(dataset.id)
    for row, utterance in zip(rows, dataset, strict=True):
        assert (row["text"], row["spk"]) == (utterance.text, utterance.speaker)
        assert row["speech_token"] == tokens[row["utt"]].tolist()
        np.testing.assert_array_equal(np.float32(row["utt_embedding"]), vectors[row["utt"]])
        mean = np.mean([vectors[uid] for uid in of_speaker[row["spk"]]], axis=0)
        np.testing.assert_allclose(row["spk_embedding"], mean, rtol=1e-6, atol=1e-7)
        with wave.open(io.BytesIO(row["audio_data"])) as file:
            assert (file.getframerate(), file.getnframes()) == (dataset.sample_rate, len(utterance.waveform))


def no_tokens_of_u3(ids):
    return [None if uid == "u3" else np.arange(3, dtype=np.int16) for uid in ids]


def no_vector_of_u1(ids):
    return [None if uid == "u1" else np.ones(6, np.float32) for uid in ids]


@pytest.mark.whole
def test_utterances_that_are_left_out_are_counted(
    with_arrays: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    remove_columns(with_arrays, arrays=["speech_tokens", "speaker_vector"])
    few = {"batch_seconds": 9, "max_failures": 1}
    add_array(with_arrays, "speech_tokens", no_tokens_of_u3, dtype="int16", axis="own", **few)
    add_array(with_arrays, "speaker_vector", no_vector_of_u1, dtype="float32", row_shape=(6,), axis="utterance", **few)
    status, out, _ = run(capsys, "export", with_arrays, tmp_path / "out", "--to", "cosyvoice")
    assert status == 0
    assert out.splitlines()[:2] == [
        "1 of 5 utterances left out: without speaker_vector",
        "1 of 5 utterances left out by CosyVoice itself: empty speech_tokens",
    ]
    rows = parquet.read_table(tmp_path / "out/parquet_000000000.tar").to_pylist()
    assert sum(bool(row["speech_token"]) for row in rows) == 3


@pytest.mark.whole
def test_an_utterance_without_tokens_has_an_empty_list_as_in_cosyvoice(with_arrays: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    remove_columns(with_arrays, arrays=["speech_tokens"])
    add_array(with_arrays, "speech_tokens", no_tokens_of_u3, dtype="int16", axis="own", batch_seconds=9, max_failures=1)
    export(with_arrays, "cosyvoice", tmp_path / "out")
    rows = parquet.read_table(tmp_path / "out/parquet_000000000.tar").to_pylist()
    assert {row["utt"]: len(row["speech_token"]) for row in rows} == {"u0": 3, "u1": 3, "u2": 3, "u3": 0, "u4": 3}


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", make_rows([9, 8]), waveform=True)
    with pytest.raises(
        ConfigurationError,
        match="CosyVoice needs the array 'speech_tokens', integers with the axis 'own', one each; add it by",
    ):
        export(store, "cosyvoice", tmp_path / "out")
