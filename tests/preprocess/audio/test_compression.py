from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, LogMagnitude, UnitMagnitude
from tts_prep.preprocess.audio.presets import PRESETS


@pytest.mark.parametrize(
    ("compression", "magnitude", "expected"),
    [
        (LogMagnitude(), 1.0, 0.0),
        (LogMagnitude(), 0.0, math.log(1e-5)),
        (LogMagnitude(min=1e-3), 1e-4, math.log(1e-3)),
        # −80 dB is 0, 20 dB is 1, and 0 dB lies at 0.8.
        (UnitMagnitude(), 1e-5, 0.0),
        (UnitMagnitude(), 1e-4, 0.0),
        (UnitMagnitude(), 1e-3, 0.2),
        (UnitMagnitude(), 1.0, 0.8),
        (UnitMagnitude(), 10.0, 1.0),
        (UnitMagnitude(), 1000.0, 1.0),
        (Compression(floor_mode="add"), 1.0, math.log(1.00001)),
        (PRESETS["coqui"].compression, 1.0, 2.4),
        (PRESETS["matcha"].compression, 1.0, 5.536622 / 2.116101),
    ],
)
def test_values_worked_out_by_hand(compression: Compression, magnitude: float, expected: float) -> None:
    assert compression.transform([magnitude])[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", PRESETS)
def test_inverse_gives_the_magnitudes_back(name: str) -> None:
    config = PRESETS[name]
    if config.compression.subtract_mean:
        pytest.skip("the mean is lost")
    magnitudes = np.geomspace(2e-4, 5.0, 1000)[:, None].repeat(config.n_mels, axis=1)
    found = config.compression.inverse(config.compression.transform(magnitudes))
    # With the floor added, magnitudes near it lose digits.
    np.testing.assert_allclose(found, magnitudes, rtol=1e-4, atol=2e-7)


def test_what_was_bounded_comes_back_as_the_bound() -> None:
    assert LogMagnitude().inverse(LogMagnitude().transform([1e-9]))[0] == pytest.approx(1e-5)
    assert UnitMagnitude().inverse([1.0])[0] == pytest.approx(10.0)
    assert Compression(floor_mode="add").inverse(Compression(floor_mode="add").transform([0.0]))[0] < 1e-9


def test_a_dynamic_range_is_below_the_largest_value_of_the_recording() -> None:
    compression = Compression(log="log10", floor=1e-10, dynamic_range=8.0)
    np.testing.assert_allclose(compression.transform([[100.0, 1e-3], [1e-7, 0.0]]), [[2, -3], [-6, -6]], atol=1e-6)
    np.testing.assert_allclose(compression.transform([[1e-9, 0.0]]), [[-9, -10]], atol=1e-6)
    np.testing.assert_allclose(PRESETS["whisper-80"].compression.transform(np.zeros((3, 80))), -1.5, atol=1e-6)


def test_a_transform_leaves_its_argument_alone() -> None:
    magnitudes = np.ones(3, np.float32)
    LogMagnitude().transform(magnitudes)
    np.testing.assert_array_equal(magnitudes, 1)


@pytest.mark.parametrize(
    "settings",
    [{"log": "log2"}, {"floor": 0.0}, {"floor": -1.0}, {"floor_mode": "clip"}, {"scale": 0.0}, {"dynamic_range": 0.0}],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(settings))}.*: expected"):
        Compression(**settings)  # type: ignore[arg-type]


def test_each_bin_has_its_own_mean_and_norm() -> None:
    compression = Compression(bin_means=(1.0, -2.0), bin_norms=(2.0, -4.0), scale=3.0, offset=0.5, maximum=4.0)
    logarithms = np.array([[1.0, -2.0], [2.0, 0.0], [7.0, 4.0]])
    # (l − mean) / norm: [0, 0], [0.5, −0.5], [3, −1.5]
    found = compression.transform(np.exp(logarithms))
    np.testing.assert_allclose(found, [[0.5, 0.5], [2.0, -1.0], [4.0, -4.0]], atol=1e-5)
    np.testing.assert_allclose(compression.inverse(found[:2]), np.exp(logarithms[:2]), rtol=1e-5)


def test_a_subtracted_mean_is_that_of_each_bin_over_the_frames() -> None:
    compression = Compression(log="log10", subtract_mean=True)
    found = compression.transform([[10.0, 1.0], [1000.0, 1.0], [100.0, 1e-9]])
    np.testing.assert_allclose(found, [[-1, 5 / 3], [1, 5 / 3], [0, -10 / 3]], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bin_norms": (1.0, 0.0)}, "bin_norms: expected numbers that are not 0"),
        ({"bin_norms": ()}, "bin_norms: expected a finite number for each mel bin"),
        ({"bin_means": (math.nan,)}, "bin_means: expected a finite number for each mel bin"),
        ({"bin_means": ("1",)}, "bin_means: expected a finite number for each mel bin"),
    ],
)
def test_numbers_of_bins_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Compression(**settings)  # type: ignore[arg-type]


def test_settings_by_bin_are_recorded_only_where_they_are_used() -> None:
    assert not {"bin_means", "bin_norms", "subtract_mean"} & set(Compression().as_dict())
    compression = Compression(bin_norms=(1.0, 2.0), subtract_mean=True)
    assert Compression(**json.loads(json.dumps(compression.as_dict()))) == compression
