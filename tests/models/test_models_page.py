"""The model in docs/models.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.mark.whole
def test_the_model_of_the_page_is_added_to_a_store(corpus: Path, tmp_path: Path) -> None:
    code, *_ = re.findall(r"```python my_codec.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "tokens.py").write_text(code, encoding="utf-8")
    (tmp_path / "LJSpeech-1.1").symlink_to(corpus)
    config = Configuration(corpus="ljspeech", text=TextConfig("characters"), store=StoreConfig())
    prepare(read_ljspeech(corpus), corpus, tmp_path / "store", config)
    subprocess.run([sys.executable, "tokens.py"], cwd=tmp_path, check=True, timeout=120)
    dataset = UtteranceDataset(tmp_path / "store", verify=True)
    assert dataset.arrays["tokens"].rate == 50
    for utterance in dataset:
        tokens = utterance.arrays["tokens"]
        assert abs(len(tokens) - utterance.seconds * 50) <= 1
        assert utterance.meta["mean_token"] == tokens.mean()
        assert np.ptp(tokens) > 0
