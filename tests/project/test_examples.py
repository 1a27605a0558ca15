"""The examples run, and return the documented results."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from corpora import TEXTS
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_store(corpus, path, preset):
    store = StoreConfig(waveform_dtype="int16")
    configuration = Configuration(mel=get_preset(preset).config, reading=get_preset(preset).reading, store=store)
    prepare(read_ljspeech(corpus), corpus, path, configuration)
    return path


def test_every_example_is_tested():
    tested = {
        "gpt_sovits_models",
        "snac_models",
        "parakeet_ljspeech",
        "parakeet_wavenet",
        "speech_models",
        "train_language_model",
        "styletts2",
        "speechain",
        "train_fastspeech",
        "train_text_to_mel",
        "train_vocoder",
    }
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested


def test_parakeet_ljspeech(corpus, store, capsys):
    example = load("parakeet_ljspeech")
    train, valid = example.create_dataloader(corpus, store, 2, 2)
    assert (len(train), len(valid)) == ((len(TEXTS) - 2) // 2, 1)
    utterances = UtteranceDataset(store)
    ((ids, mels, stops),) = valid
    for row in range(2):
        utterance = utterances[row]
        n = len(utterance.mel)
        np.testing.assert_array_equal(mels[row, :n], utterance.mel)
        assert stops[row].tolist() == [1] * (n - 1) + [2] + [0] * (mels.shape[1] - n)
        assert ids[row, : len(utterance.phonemes)].tolist() == utterance.phonemes.tolist()
    example.main([str(corpus), str(store), "--batch-size", "2"])
    assert capsys.readouterr().out.count("valid: ids") == 2


def test_parakeet_wavenet(corpus, tmp_path, capsys):
    store = make_store(corpus, tmp_path / "store", "parakeet-wavenet")
    example = load("parakeet_wavenet")
    train, valid = example.build_cargos(store, 1, 2, context_size=512, train_clip_seconds=0.05)
    utterances = UtteranceDataset(store)
    # 22,050 // 256 = 86 frames a second: ceil(4.3) + 512 // 256 = 7 frames a clip.
    for audios, mels, starts in train:
        assert audios.shape[1] == 7 * 256
        assert mels.shape[1] == utterances.n_mels
        assert (starts % 256 == 0).all()
    ((audios, mels, starts),) = valid
    assert mels.shape[2] * 256 == audios.shape[1] == utterances.n_samples[0]
    np.testing.assert_allclose(audios[0], utterances[0].waveform / 32_768, atol=1e-6)
    assert starts.tolist() == [0]


def test_styletts2(corpus, tmp_path, capsys):
    store = make_store(corpus, tmp_path / "store", "styletts2")
    example = load("styletts2")
    utterances = UtteranceDataset(store)
    seen = []
    for waves, texts, lengths, _, ref_lengths, mels, output_lengths, ref_mels in example.build(store, True):
        assert len(waves) == len(texts) == len(lengths) == len(ref_lengths)
        assert tuple(mels.shape[1:]) == (80, int(output_lengths.max()))
        assert tuple(ref_mels.shape[1:]) == (80, 192)
        assert all(int(n) % 2 == 0 for n in output_lengths)
        # 5,000 zeros at both ends, which the store's waveform has.
        assert all(not np.asarray(wave)[:5000].any() and not np.asarray(wave)[-5000:].any() for wave in waves)
        seen += [tuple(np.asarray(text)[: int(n)].tolist()) for text, n in zip(texts, lengths, strict=True)]
    code = {symbol: number for number, symbol in enumerate(utterances.symbols)}
    expected = [(0, *(code[symbol] for symbol in text), 0) for text in utterances.phoneme_text]
    assert sorted(seen) == sorted(expected)
    example.main([str(store)])
    assert "ref_mels (4, 80, 192)" in capsys.readouterr().out


def test_speechain(store, tmp_path, capsys):
    load("speechain").main([str(store), str(tmp_path / "files")])
    out = capsys.readouterr().out
    assert "train sup: feat" in out
    assert "train unsup: feat" in out
    assert "valid: feat (4," in out


def test_training_goes_on_in_mid_epoch_as_if_it_had_never_stopped(tmp_path):
    pytest.importorskip("torch")
    rows = make_rows([20 + 7 * (i % 11) for i in range(40)])
    for row in rows:
        # Something to learn: what a phoneme sounds like.
        which = np.arange(len(row.mel)) * len(row.phonemes) // len(row.mel)
        row.mel = np.eye(5, dtype=np.float32)[row.phonemes[which]] * 2 + row.mel / 10
    store = write_store(tmp_path / "store", rows)
    example = load("train_text_to_mel")
    whole = example.train(store, tmp_path / "whole.pt", 8, max_frames=400)
    assert whole[-1] < 0.5 * whole[0]
    assert example.train(store, tmp_path / "parts.pt", 8, max_frames=400, stop_after=17) == whole[:2]
    assert example.train(store, tmp_path / "parts.pt", 8, max_frames=400) == whole[2:]
