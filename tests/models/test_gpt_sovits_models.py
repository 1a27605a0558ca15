"""GPT-SoVITS's word2ph and BERT features as outputs of models, with stand-ins of its cleaner and of BERT."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech

from tts_prep.loader import UtteranceDataset

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt_sovits_models.py"
STAND_INS = """
import numpy as np
from gpt_sovits_models import BertFeatures

def clean_text(text, language, version):
    assert (language, version) == ("zh", "v2")
    counts = [1 + ord(character) % 3 for character in text]
    return ["a"] * sum(counts), counts[: -1 if text.startswith("Two") else None], text

class StandIn(BertFeatures):
    software = ()

    def load(self, model):
        self.table = np.random.default_rng(len(model)).normal(size=(256, 1024)).astype(np.float32)

    def features(self, text):
        return self.table[[ord(character) for character in text]]
"""


def test_word2ph_and_features_by_phone_are_arrays_of_a_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    (tmp_path / "stand_ins_of_sovits.py").write_text(STAND_INS, "utf-8")
    monkeypatch.chdir(tmp_path)
    corpus, store = write_ljspeech(tmp_path / "lj", ("One.", "Two and three.", "Four.")), tmp_path / "store"
    made = ("--mel", "none", "--waveform", "int16", "--frontend", "characters")
    assert run(capsys, "ljspeech", corpus, store, *made)[0] == 0
    word2ph = "gpt_sovits_models:WordToPhones:cleaner=stand_ins_of_sovits"
    assert run(capsys, "add", store, "--feature", word2ph)[0] == 0
    given = ("--feature", "stand_ins_of_sovits:StandIn:model=none", "--max-failures", "1")
    status, _, error = run(capsys, "add", store, *given)
    assert status == 0, error
    dataset = UtteranceDataset(store)
    table = np.random.default_rng(4).normal(size=(256, 1024)).astype(np.float32)
    # Where word2ph has another length than the text, the utterance has no features.
    assert list(dataset.having("bert").text) == ["One.", "Four."]
    for utterance in dataset.having("bert"):
        counts = [1 + ord(character) % 3 for character in utterance.text]
        assert utterance.arrays["word2ph"].tolist() == counts
        characters = np.repeat([ord(character) for character in utterance.text], counts)
        np.testing.assert_array_equal(utterance.arrays["bert"], table[characters])
