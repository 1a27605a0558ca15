"""The JSON lines of codec language models have the keys and shapes that their datasets read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from commands import run

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.imports.arrays import make_imported
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_columns
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance

SPEAKERS = ("anna", "bert", "anna", "bert", "carl")


@pytest.fixture
def store(corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store"
    rows = [
        SourceUtterance(f"u{i}", f"Text {i}.", f"wavs/S-{i:04d}.wav", "here", speaker)
        for i, speaker in enumerate(SPEAKERS)
    ]
    config = Configuration(text=TextConfig("characters"), store=StoreConfig(shard_utterances=2, waveform_dtype="int16"))
    prepare(rows, corpus, path, config)
    return path


def codes(i: int, books: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(i).integers(0, 2048, (10 + i, books)).astype(np.int16)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.whole
def test_rows_have_recordings_codes_and_another_utterance_of_their_speaker(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {f"u{i}": codes(i, 4) for i in range(5)}
    np.savez(tmp_path / "codes.npz", **given)
    add_features(store, [make_imported(f"mimi@own:12.5={tmp_path / 'codes.npz'}")])
    np.savez(tmp_path / "vector.npz", **{uid: np.ones(3, np.float32) for uid in given})
    add_features(store, [make_imported(f"vector@utterance={tmp_path / 'vector.npz'}")])
    status, out, _ = run(capsys, "export", str(store), str(tmp_path / "out"), "--to", "jsonl")
    assert (status, "left out" in out) == (0, False)
    found, dataset = lines(tmp_path / "out"), UtteranceDataset(store)
    seconds = {utterance.id: utterance.seconds for utterance in dataset}
    for row, utterance, speaker in zip(found, dataset, SPEAKERS, strict=True):
        assert (row["id"], row["text"], row["speaker"]) == (utterance.id, utterance.text, speaker)
        samples, rate = soundfile.read(row["audio"], dtype="int16")
        assert (rate, row["duration"]) == (dataset.sample_rate, len(samples) / rate)
        np.testing.assert_array_equal(samples, utterance.waveform)
        assert (row["audio_codes"], row["vector"], "mimi" in row) == (given[utterance.id].tolist(), [1, 1, 1], False)
        # A speaker with one utterance has no other.
        others = [uid for uid, of in zip(seconds, SPEAKERS, strict=True) if of == speaker and uid != utterance.id]
        reference = min(others or [utterance.id], key=lambda uid: abs(seconds[uid] - 5))
        assert row["ref_audio"] == str(tmp_path / f"out/audio/{reference}.wav")
        assert row["ref_audio_codes"] == given[reference].tolist()


@pytest.mark.whole
def test_a_column_names_references_by_id_or_path_and_other_columns_are_kept(store: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "codes.npz", **{f"u{i}": codes(i, 2)[:, 0] for i in range(5)})
    add_features(store, [make_imported(f"audio_codes@own:12.5={tmp_path / 'codes.npz'}")])
    instruct = ["slowly", "", "", "", "softly"]
    add_columns(
        store, {"id": [f"u{i}" for i in range(5)], "ref_audio": ["u4", "/b.wav", "", "u1", ""], "instruct": instruct}
    )
    export(store, "jsonl", tmp_path / "out")
    found = lines(tmp_path / "out")
    assert [Path(row["ref_audio"]).name for row in found] == ["u4.wav", "b.wav", "u0.wav", "u1.wav", "u4.wav"]
    assert found[1]["ref_audio"] == "/b.wav"
    assert "ref_audio_codes" not in found[1]
    assert found[0]["ref_audio_codes"] == [[code] for code in codes(4, 2)[:, 0].tolist()]
    assert [row.get("instruct", "") for row in found] == instruct


@pytest.mark.whole
def test_without_codes_there_are_recordings_and_texts_and_two_arrays_of_codes_are_a_question(
    store: Path, tmp_path: Path
) -> None:
    export(store, "jsonl", tmp_path / "plain")
    assert not {"audio_codes", "ref_audio_codes"} & lines(tmp_path / "plain")[0].keys()
    for name in ("one", "two"):
        np.savez(tmp_path / f"{name}.npz", **{f"u{i}": codes(i, 2) for i in range(5)})
        add_features(store, [make_imported(f"{name}@own:12.5={tmp_path / f'{name}.npz'}")])
    with pytest.raises(
        ConfigurationError, match=r"one, two can be the audio_codes of jsonl; 'tts-prep remove .* --array NAME'"
    ):
        export(store, "jsonl", tmp_path / "out")
