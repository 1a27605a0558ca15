from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.mel import mel_statistics


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(0, 10**6))
def test_parts_merge_to_what_numpy_says_of_all_frames(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(-5, 2, (n, 3)).astype(np.float32) for n in lengths if n]
    total = MelStatistics.empty(3)
    for part in parts:
        total = total.merged(mel_statistics(part))
    frames = np.concatenate([*parts, np.empty((0, 3), np.float32)]).astype(np.float64)
    assert total.count == len(frames)
    if len(frames):
        np.testing.assert_allclose(total.mean, frames.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(total.std, frames.std(axis=0), rtol=1e-9, atol=1e-12)
    again = MelStatistics.from_dict(total.as_dict())
    np.testing.assert_array_equal(again.m2, total.m2)
