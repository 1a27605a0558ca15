"""Piper's examples and batches, and the list that it trains on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.recipes import PiperCollate, PiperDataset, vits

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.whole


def build(corpus: Path, path: Path, blanks: str = "between", symbols: str = "piper") -> Path:
    preset = get_preset("piper")
    text, store = TextConfig(symbols=symbols, blanks=blanks), StoreConfig(waveform_dtype="int16")
    configuration = Configuration(limit=4, mel=preset.config, reading=preset.reading, text=text, store=store)
    prepare(read_ljspeech(corpus), corpus, path, configuration)
    return path


@pytest.fixture(scope="module")
def store(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(corpus, tmp_path_factory.mktemp("piper") / "store")


def test_ids_have_pads_between_and_the_ends_of_piper(store: Path) -> None:
    for example, utterance in zip(PiperDataset(store), UtteranceDataset(store), strict=True):
        ids = example.phoneme_ids.tolist()
        # phonemes_to_ids of Piper: ^ and its pad, each phoneme and a pad, and $.
        assert (ids[0], ids[-1], set(ids[1::2])) == (1, 2, {0})
        code = {symbol: i for i, symbol in enumerate(utterance.store.symbols)}
        assert ids[2:-1:2] == [code[symbol] for symbol in utterance.phoneme_text]
        assert example.text == utterance.text
        expected = vits.linear_spectrogram(utterance.audio, 1024, 256, 1024)
        np.testing.assert_array_equal(example.spectrogram, expected)


def test_a_batch_is_sorted_by_spectrogram_and_its_audio_reaches_a_segment(store: Path) -> None:
    dataset = PiperDataset(store)
    examples = [dataset[i] for i in range(len(dataset))]
    batch = PiperCollate(False, 1_000_000)(examples)
    order = sorted(range(len(examples)), key=lambda i: -examples[i].spectrogram.shape[1])
    assert batch.spectrogram_lengths.tolist() == [examples[i].spectrogram.shape[1] for i in order]
    assert batch.audios.shape == (len(examples), 1, 1_000_000)
    assert batch.speaker_ids is None
    for row, i in enumerate(order):
        n = int(batch.audio_lengths[row])
        torch.testing.assert_close(batch.audios[row, 0, :n], examples[i].audio_norm)
        assert not batch.audios[row, 0, n:].any()
        assert batch.phoneme_ids[row, : batch.phoneme_lengths[row]].tolist() == examples[i].phoneme_ids.tolist()
    types = [batch.phoneme_ids, batch.phoneme_lengths, batch.spectrograms, batch.audios, batch.audio_lengths]
    assert [value.dtype for value in types] == [torch.int64] * 2 + [torch.float32] * 2 + [torch.int64]
    longest = max(len(example.audio_norm) for example in examples)
    assert PiperCollate(False, 10)(examples).audios.shape[2] == longest
    for one, other in zip(vars(PiperCollate(False, 10)(dataset.__getitems__(range(len(examples))))).values(),
                          vars(PiperCollate(False, 10)(examples)).values(), strict=True):  # fmt: skip
        assert one is other is None or torch.equal(one, other)
    with pytest.raises(ConfigurationError, match="is_multispeaker: the store has one speaker"):
        PiperCollate(True, 10)(examples)


def test_speakers_are_numbered_in_their_order(store: Path) -> None:
    dataset: Any = PiperDataset(store)
    examples = [dataset[i] for i in range(2)]
    for number, example in enumerate(examples):
        example.speaker_id = torch.tensor([number])
    rows = sorted(examples, key=lambda example: -example.spectrogram.shape[1])
    assert PiperCollate(True, 10)(examples).speaker_ids.tolist() == [int(row.speaker_id) for row in rows]
    assert dataset.speaker_id_map == {"ljspeech": 0}


def test_selections_of_a_store_number_its_speakers_alike(tmp_path: Path) -> None:
    dataset = UtteranceDataset(write_store(tmp_path / "s", make_rows([9, 9, 9, 9, 9, 9]), waveform=True))
    whole = PiperDataset(dataset, settings="any")
    ids = {utterance.speaker: int(example.speaker_id) for utterance, example in zip(dataset, whole, strict=True)}
    assert sorted(ids.values()) == [0, 1, 2]
    for selection in (dataset[1:], dataset[4:5]):
        part = PiperDataset(selection, settings="any")
        assert [int(example.speaker_id) for example in part] == [ids[speaker] for speaker in selection.speaker]
        assert part.speaker_id_map == whole.speaker_id_map == ids


@pytest.mark.parametrize(("blanks", "symbols"), [("none", "piper"), ("around", "piper"), ("between", "espeak")])
def test_other_ids_are_refused_by_the_recipe_and_the_export(
    corpus: Path, tmp_path: Path, blanks: str, symbols: str
) -> None:
    path = build(corpus, tmp_path / "s", blanks, symbols)
    with pytest.raises(
        ConfigurationError, match="not made for Piper: .*--symbols piper --blanks between --waveform int16, or pass"
    ):
        PiperDataset(path)
    with pytest.raises(ConfigurationError, match="not made for Piper: .*--symbols piper --blanks between$"):
        export(path, "piper", tmp_path / "out")


def test_the_list_has_the_ids_and_its_recordings_are_there(store: Path, tmp_path: Path) -> None:
    export(store, "piper", tmp_path / "out")
    with (tmp_path / "out" / "metadata.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="|"))
    assert len(rows) == len(UtteranceDataset(store))
    for (name, text, ids), utterance in zip(rows, UtteranceDataset(store), strict=True):
        assert (text, list(map(int, ids.split()))) == (utterance.text, utterance.phonemes.tolist())
        samples, rate = soundfile.read(tmp_path / "out" / "wavs" / name, dtype="int16")
        assert rate == 22_050
        np.testing.assert_array_equal(samples, utterance.waveform)
