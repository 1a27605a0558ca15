"""The example train_fastspeech.py: durations and pitch of a store teach a model what the mean does not know."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_fastspeech.py"


@pytest.mark.soak
def test_the_validation_loss_falls_well_below_that_of_the_mean(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pyworld")
    example = runpy.run_path(str(EXAMPLE))
    dataset = example["make_store"](tmp_path, 48, "dio")
    assert all(utterance.arrays["durations"].sum() == len(utterance.mel) for utterance in dataset)
    found, plain = example["train"](dataset, 12)
    # Durations, pitch, mel. What pitch a speaker has, phones do not tell.
    assert found[0] < 0.7 * plain[0]
    assert found[2] < 0.6 * plain[2]
    assert sum(found) < 0.75 * sum(plain)
