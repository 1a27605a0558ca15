"""EnCodec's tokens and x-vectors of the example: those of transformers, one utterance at a time."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from corpora import SAMPLE_RATE, speech_like

from tts_prep.loader import Collator, UtteranceDataset
from tts_prep.preprocess import add_array
from tts_prep.preprocess.audio.reading import resample
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("speech_models")


# Longer than the frames that the layers of an x-vector see.
RECORDINGS = [speech_like(seconds, number) for number, seconds in enumerate((1.3, 0.9, 2.1, 1.72, 0.6))]


def test_a_batch_of_the_example_models_has_the_values_that_transformers_gives_alone(models: ModuleType) -> None:
    vectors = models.SpeakerVectors(seed=3)
    # The samples of 16-bit recordings.
    recordings = [(np.round(samples * 32767) / 32768).astype(np.float32) for samples in RECORDINGS]
    at_16_khz = [resample(samples, SAMPLE_RATE, 16_000) for samples in recordings]
    expected = [x_vector(vectors.model, waveform) for waveform in at_16_khz]
    np.testing.assert_allclose(vectors(at_16_khz), expected, atol=1e-4)
    tokens = models.EncodecTokens(seed=3)
    at_24_khz = [resample(samples, SAMPLE_RATE, 24_000) for samples in recordings]
    check_tokens(tokens(at_24_khz), [encodec(tokens.model, waveform) for waveform in at_24_khz])


def test_codes_of_snac_have_the_order_in_which_orpheus_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("snac")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    codec = importlib.import_module("snac_models").SnacCodes(seed=3)
    waveform = resample(RECORDINGS[0], SAMPLE_RATE, 24_000).astype(np.float32)
    with torch.inference_mode():
        shapes = [codes.shape for codes in codec.model.encode(torch.from_numpy(waveform)[None, None])]
    assert len(codec([waveform])[0]) == -(-len(waveform) // 2048)
    # Small networks have equal codes in a frame, so these have others, with the shapes of the network.
    n = shapes[0][1]
    assert shapes == [(1, n), (1, 2 * n), (1, 4 * n)]
    layers = [1000 * k + torch.arange(size[1])[None] for k, size in enumerate(shapes)]
    codec.model = SimpleNamespace(encode=lambda _: layers)
    # tokenise_audio of the notebook for Orpheus.
    first, second, third = (layer[0].tolist() for layer in layers)
    expected = []
    for i in range(n):
        expected += [first[i], second[2 * i], third[4 * i], third[4 * i + 1]]
        expected += [second[2 * i + 1], third[4 * i + 2], third[4 * i + 3]]
    assert codec([waveform])[0].ravel().tolist() == expected


def check_tokens(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    assert [values.shape for values in found] == [values.shape for values in expected]
    different = sum(int((a != b).sum()) for a, b in zip(found, expected, strict=True))
    # Rounding can decide between two entries of a codebook that are equally near.
    assert different <= sum(values.size for values in expected) // 500
    assert len(np.unique(np.concatenate(found))) > 10


def encodec(model: Any, waveform: np.ndarray) -> np.ndarray:
    """Return the tokens of one waveform, by the library's own call, as scripts that extract tokens do."""
    import torch

    whole = torch.nn.functional.pad(torch.from_numpy(waveform), (0, -len(waveform) % 320))[None, None]
    with torch.inference_mode():
        return np.asarray(model.encode(whole, bandwidth=1.5).audio_codes[0, 0].T)


def x_vector(model: Any, waveform: np.ndarray) -> np.ndarray:
    """Return the vector of one waveform, by the library's own call."""
    import torch
    from transformers import Wav2Vec2FeatureExtractor

    given = Wav2Vec2FeatureExtractor(do_normalize=True)(waveform, sampling_rate=16_000, return_tensors="pt")
    with torch.inference_mode():
        vector = model(given.input_values).embeddings[0]
    return np.asarray(vector / vector.norm())


@pytest.mark.soak
def test_a_store_has_the_values_that_transformers_gives_alone(models: ModuleType, tmp_path: Path) -> None:
    store, corpus = tmp_path / "store", tmp_path / "corpus"
    (corpus / "wavs").mkdir(parents=True)
    rows = []
    for number, samples in enumerate(RECORDINGS):
        soundfile.write(corpus / f"wavs/u{number}.wav", samples, SAMPLE_RATE)
        rows.append(SourceUtterance(f"u{number}", "A text.", f"wavs/u{number}.wav", "here", "anna"))
    config = Configuration(corpus="ljspeech", text=TextConfig("characters"), store=StoreConfig(waveform_dtype="int16"))
    prepare(rows, corpus, store, config)
    add_array(store, "tokens", models.EncodecTokens, settings={"seed": 3})
    add_array(store, "speaker_vector", models.SpeakerVectors, settings={"seed": 3})
    dataset = UtteranceDataset(store, verify=True)
    rate = dataset.sample_rate
    vectors, tokens = models.SpeakerVectors(seed=3).model, models.EncodecTokens(seed=3).model
    expected = [x_vector(vectors, resample(row.audio, rate, 16_000)) for row in dataset]
    np.testing.assert_allclose(dataset.views("speaker_vector"), expected, atol=1e-4)
    expected = [encodec(tokens, resample(row.audio, rate, 24_000)) for row in dataset]
    check_tokens(dataset.views("tokens"), expected)
    batch = Collator(arrays=("tokens", "speaker_vector"), array_padding={"tokens": 256})(dataset)
    assert batch.tokens.shape[2] == 2
    assert (batch.tokens[0, batch.array_lengths["tokens"][0] :] == 256).all()


def test_the_example_models_run_on_a_gpu(models: ModuleType) -> None:
    if not importlib.import_module("torch").cuda.is_available():
        pytest.skip("no CUDA")
    waveform = resample(RECORDINGS[0], SAMPLE_RATE, 24_000)
    [on_gpu], [on_cpu] = (models.EncodecTokens(seed=3, device=device)([waveform]) for device in ("cuda:0", "cpu"))
    assert on_gpu.shape == on_cpu.shape
    # What is promised on a GPU is that there are tokens, not that they are those of a CPU.
    assert (on_gpu == on_cpu).mean() > 0.9
    [vector] = models.SpeakerVectors(seed=3, device="cuda:0")([resample(RECORDINGS[0], SAMPLE_RATE, 16_000)])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)
