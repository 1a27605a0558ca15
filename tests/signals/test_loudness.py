from __future__ import annotations

import itertools

import numpy as np
import pytest

from tts_prep.signals.cleaner import _sum_weighted, k_weighting, loudness, weighted_energies

# Recommendation ITU-R BS.1770-5, tables 1 and 2: coefficients at 48 kHz.
SHELF = ([1.53512485958697, -2.69169618940638, 1.19839281085285], [1.0, -1.69065929318241, 0.73248077421585])
PASS = ([1.0, -2.0, 1.0], [1.0, -1.99004745483398, 0.99007225036621])


def rising_noise(seconds: float, sample_rate: int) -> np.ndarray:
    """Return noise whose level rises by 46 dB, so that both gates exclude blocks."""
    n = int(np.ceil(seconds * sample_rate))
    return (np.random.default_rng(0).normal(size=n) * np.geomspace(0.001, 0.2, n)).astype(np.float32)


def recursive(b: tuple[float, ...], a: tuple[float, ...], samples: np.ndarray) -> np.ndarray:
    """Return y of a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + b[2] x[n - 2] - a[1] y[n - 1] - a[2] y[n - 2]."""
    x, y = [0.0, 0.0, *samples.tolist()], [0.0, 0.0]
    for n in range(2, len(x)):
        y.append((b[0] * x[n] + b[1] * x[n - 1] + b[2] * x[n - 2] - a[1] * y[n - 1] - a[2] * y[n - 2]) / a[0])
    return np.array(y[2:])


def test_the_filters_at_48_khz_are_those_of_the_recommendation() -> None:
    for found, expected in zip(k_weighting(48_000), (SHELF, PASS), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("sample_rate", [16_000, 22_050, 44_100, 48_000])
def test_a_full_scale_sine_at_997_hz_has_minus_3_01_lufs(sample_rate: int) -> None:
    sine = np.sin(2 * np.pi * 997 * np.arange(5 * sample_rate) / sample_rate).astype(np.float32)
    assert loudness(sine, sample_rate) == pytest.approx(-3.01, abs=0.05)
    assert loudness(sine / 10, sample_rate) == pytest.approx(-23.01, abs=0.05)
    # On both sides of the gate at -70 LUFS.
    assert loudness(sine * np.float32(10 ** (-66.5 / 20)), sample_rate) == pytest.approx(-69.51, abs=0.05)
    assert loudness(sine * np.float32(10 ** (-67.5 / 20)), sample_rate) == -np.inf


@pytest.mark.parametrize("sample_rate", [8_000, 11_025, 48_000])
@pytest.mark.parametrize("n_steps", [1, 5, 16, 37])
def test_weighted_energies_are_those_of_the_recursive_filters(sample_rate: int, n_steps: int) -> None:
    expected = samples = rising_noise(0.4, sample_rate)
    for b, a in k_weighting(sample_rate):
        expected = recursive(b, a, expected)
    edges = np.linspace(0, len(samples) - 3, n_steps + 1).astype(np.int64)
    energies = [float((expected[start:stop] ** 2).sum()) for start, stop in itertools.pairwise(edges)]
    np.testing.assert_allclose(weighted_energies(samples, edges, sample_rate), energies, rtol=1e-6)
    # Integers with another full scale.
    rounded = np.rint(samples * 30_000).astype(np.int16)
    rounded.flags.writeable = False
    np.testing.assert_allclose(weighted_energies(rounded, edges, sample_rate, 30_000), energies, rtol=0.02, atol=1e-6)


def test_compiled_filters_have_the_values_of_the_same_code_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, edges = rising_noise(0.3, 8_000), np.arange(0, 2401, 800)
    compiled = weighted_energies(samples, edges, 8_000)
    monkeypatch.setattr(_sum_weighted, "_compiled", _sum_weighted.python)
    assert weighted_energies(samples, edges, 8_000).tolist() == compiled.tolist()


@pytest.mark.parametrize(
    ("sample_rate", "seconds", "expected"),
    [
        (8_000, 0.4, -21.5808),
        (8_000, 0.77, -22.2688),
        (8_000, 3.3, -20.1301),
        (16_000, 0.4, -21.4656),
        (16_000, 0.77, -21.8598),
        (16_000, 3.3, -19.5749),
        (22_050, 0.4, -21.3122),
        (22_050, 0.77, -21.6635),
        (22_050, 3.3, -19.4696),
        (44_100, 0.4, -21.1468),
        (44_100, 0.77, -21.2961),
        (44_100, 3.3, -19.2439),
        (48_000, 0.4, -21.2231),
        (48_000, 0.77, -21.2611),
        (48_000, 3.3, -19.1873),
    ],
)
def test_loudness_is_that_of_pyloudnorm_with_the_recommendations_filters(
    sample_rate: int, seconds: float, expected: float
) -> None:
    # Made with pyloudnorm 0.2.0, Meter(sample_rate, filter_class="DeMan").
    assert loudness(rising_noise(seconds, sample_rate), sample_rate) == pytest.approx(expected, abs=1e-4)


def test_loudness_is_within_a_tenth_of_a_decibel_of_pyloudnorm_by_default() -> None:
    pyloudnorm = pytest.importorskip("pyloudnorm")
    for sample_rate in (22_050, 24_000, 44_100, 48_000):
        samples = rising_noise(3.3, sample_rate)
        expected = pyloudnorm.Meter(sample_rate).integrated_loudness(samples)
        assert loudness(samples, sample_rate) == pytest.approx(expected, abs=0.1)


def test_silence_has_no_loudness_and_less_than_a_block_none_that_is_defined() -> None:
    assert loudness(np.zeros(22_050, np.float32), 22_050) == -np.inf
    assert loudness(np.full(22_050, 1e-6, np.float32), 22_050) == -np.inf
    assert np.isnan(loudness(np.ones(8_819, np.float32), 22_050))
    assert np.isnan(loudness(np.empty(0, np.float32), 22_050))
    assert np.isfinite(loudness(rising_noise(0.4, 22_050), 22_050))
