"""The language model of the examples: trained on tokens of the demo corpus by two processes, and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks import run_ranks

from tts_prep.preprocess import add_array
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

EXAMPLES = Path(__file__).parents[2] / "examples"


def train(store: Path, *options: object) -> list[float]:
    """Run the example in two processes; return the losses that the first prints."""
    outputs = run_ranks([str(EXAMPLES / "train_language_model.py"), str(store), *map(str, options)])
    return [float(line) for line in outputs[0].splitlines()]


@pytest.mark.soak
def test_a_language_model_learns_and_has_the_same_losses_when_it_is_resumed_in_mid_epoch(
    demo_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import speech_models

    store, checkpoint = tmp_path / "store", tmp_path / "model.pt"
    config = Configuration(
        corpus="ljspeech", text=TextConfig("characters"), store=StoreConfig(waveform_dtype="int16"), limit=24
    )
    prepare(read_ljspeech(demo_corpus), demo_corpus, store, config)
    add_array(store, "tokens", speech_models.EncodecTokens, jobs=2)
    whole = train(store, "--epochs", 3)
    # Two batches into the second epoch.
    stop = len(whole) // 3 + 2
    begun = train(store, "--epochs", 3, "--checkpoint", checkpoint, "--save-every", stop, "--stop-after", stop)
    resumed = train(store, "--epochs", 3, "--checkpoint", checkpoint, "--save-every", 1000)
    # So that it was left before its end.
    assert len(whole) // 3 > 2
    assert begun + resumed == whole
    assert sum(whole[-3:]) < sum(whole[:3])
