"""Weights and groups near the limits of numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.loader import MixingSampler, RandomSampler, SequentialSampler, WeightedRandomSampler


@pytest.mark.parametrize("scale", [1e308, 1.0, 2.0**-1022, 5e-324])
def test_weights_of_any_scale_draw_alike(scale: float) -> None:
    weights = np.array([scale, 0, scale, scale])
    drawn = Counter(WeightedRandomSampler(weights, 3000, seed=3))
    assert drawn == Counter(WeightedRandomSampler([1, 0, 1, 1], 3000, seed=3))
    assert min(drawn[i] for i in (0, 2, 3)) > 900
    once = [tuple(WeightedRandomSampler(weights, 3, replacement=False, seed=seed)) for seed in range(50)]
    assert once == [tuple(WeightedRandomSampler([1, 0, 1, 1], 3, replacement=False, seed=seed)) for seed in range(50)]


def test_a_weight_that_is_far_below_another_is_still_above_none() -> None:
    sampler = WeightedRandomSampler([0, 1e308, 0, 1e-308], 2, replacement=False)
    assert [tuple(sampler) for _ in range(5)] == [(1, 3)] * 5


def test_large_numbers_of_groups_are_refused_before_memory_is_taken() -> None:
    with pytest.raises(ConfigurationError, match=r"expected numbers below 1,048,576, found 1000000000000; number the"):
        MixingSampler([0, 10**12])


def test_a_length_stands_for_a_dataset() -> None:
    assert list(RandomSampler(5, seed=1)) == list(RandomSampler(range(5), seed=1))
    assert list(SequentialSampler(np.int64(3))) == [0, 1, 2]
    for wrong in (-1, True, 2.5, None):
        with pytest.raises(ConfigurationError, match="data_source: expected a dataset or its length, found"):
            RandomSampler(wrong)  # type: ignore[arg-type]
