"""EnCodec's tokens and x-vectors of the example: those of transformers, one utterance at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import SAMPLE_RATE, speech_like

from tts_prep.loader import Collator, UtteranceDataset
from tts_prep.preprocess import add_array
from tts_prep.preprocess.audio.resampling import resample
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora import SourceUtterance
from tts_prep.preprocess.runs.prepare import prepare

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_batches_of_the_example_models_have_the_values_that_transformers_gives_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import speech_models as models

    store, corpus = tmp_path / "store", tmp_path / "corpus"
    rows = []
    # Longer than the frames that the layers of an x-vector see.
    for number, seconds in enumerate((1.3, 0.9, 2.1, 1.72, 0.6)):
        (corpus / "wavs").mkdir(parents=True, exist_ok=True)
        soundfile.write(corpus / f"wavs/u{number}.wav", speech_like(seconds, number), SAMPLE_RATE)
        rows.append(SourceUtterance(f"u{number}", "A text.", f"wavs/u{number}.wav", "here", "anna"))
    config = Configuration(corpus="ljspeech", text=TextConfig("characters"), store=StoreConfig(waveform_dtype="int16"))
    prepare(rows, corpus, store, config)
    add_array(store, "tokens", models.EncodecTokens, settings={"seed": 3})
    add_array(store, "speaker_vector", models.SpeakerVectors, settings={"seed": 3})
    dataset = UtteranceDataset(store, verify=True)
    # The way of the scripts that extract tokens: one recording after another, by the library's own call.
    encodec, x_vector = models.EncodecTokens(seed=3).model, models.SpeakerVectors(seed=3).model
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=True)
    rate = dataset.sample_rate
    different = total = 0
    for utterance in dataset:
        waveform = torch.from_numpy(resample(utterance.audio, rate, 24_000))
        whole = torch.nn.functional.pad(waveform, (0, -len(waveform) % 320))[None, None]
        with torch.inference_mode():
            codes = encodec.encode(whole, bandwidth=1.5).audio_codes[0, 0].T.numpy()
        tokens = utterance.arrays["tokens"]
        assert tokens.shape == codes.shape
        different, total = different + int((tokens != codes).sum()), total + codes.size
        given = extractor(resample(utterance.audio, rate, 16_000), sampling_rate=16_000, return_tensors="pt")
        with torch.inference_mode():
            vector = x_vector(given.input_values).embeddings[0]
        np.testing.assert_allclose(utterance.arrays["speaker_vector"], vector / vector.norm(), atol=1e-4)
    # Rounding can decide between two entries of a codebook that are equally near.
    assert different <= total // 500
    assert len(np.unique(np.concatenate(dataset.views("tokens")))) > 10
    batch = Collator(arrays=("tokens", "speaker_vector"), array_padding={"tokens": 256})(dataset)
    assert batch.tokens.shape[2] == 2
    assert (batch.tokens[0, batch.array_lengths["tokens"][0] :] == 256).all()
