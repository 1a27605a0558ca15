"""How far the estimate of a store that has aligned itself can be off, as measured on corpora of other kinds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tts_prep.format.layout import ALIGNMENT_WITHIN
from tts_prep.toml_files import read_toml

if TYPE_CHECKING:
    from tts_prep.loader import UtteranceDataset

LEAST_SECONDS: Final = 60.0
"""The minimum duration of the sample for an estimate, which is off by up to 41 points for less."""

_TABLE: Final = read_toml(__package__, "calibration.toml")
_LEAST: Final = 0.01
"""The least distance from 0 and 1 of a share whose logit is taken."""


def likely_shares(share: float) -> tuple[float, float]:
    """Return the ends of the 90 % interval of an estimate: nine of ten models of known times were in theirs."""
    bounded = min(max(share, _LEAST), 1 - _LEAST)
    logit = math.log(bounded / (1 - bounded))
    low, high = (1 / (1 + math.exp(-logit - _TABLE[end])) for end in ("lower", "upper"))
    return low, high


def estimate_text(dataset: UtteranceDataset) -> str:
    """Return the estimated share of boundaries within 20 ms of a store that has aligned itself, and its interval."""
    share = float(np.mean(np.asarray(dataset.columns[ALIGNMENT_WITHIN])))
    durations = dataset.arrays.get("durations")  # None if they were removed, but not the column.
    sample = durations.settings.get("sample", len(dataset)) if durations else len(dataset)
    # Of the store, also where the dataset is a selection.
    n_frames = min(float(dataset.metadata.speaker_frames.sum()), sample * float(np.mean(dataset.n_frames)))
    seconds = n_frames * dataset.hop_length / dataset.sample_rate
    if seconds < LEAST_SECONDS:
        return f"{share:.0%} (with less than {LEAST_SECONDS:.0f} s of speech, a guess)"
    low, high = likely_shares(share)
    return f"{share:.0%} (90% interval: {low:.0%} to {high:.0%})"
