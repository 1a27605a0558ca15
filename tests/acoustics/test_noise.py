from __future__ import annotations

import numpy as np
import pytest

from tts_prep.acoustics.levels import LEAST, sum_samples, wada_snr


def speech_in_noise(snr: float | None) -> np.ndarray:
    """Return samples as the method assumes them: gamma-distributed speech and Gaussian noise at a ratio in dB."""
    rng = np.random.default_rng(3)
    speech = rng.gamma(0.4, 1, 40_000) * rng.choice([-1, 1], 40_000)
    noise = np.zeros(40_000)
    if snr is not None:
        noise = rng.normal(size=40_000) * np.sqrt((speech**2).mean() / 10 ** (snr / 10))
    return (speech + noise).astype(np.float32)


def ratio(samples: np.ndarray) -> float:
    return wada_snr(sum_samples(samples, float(np.abs(samples).max()), LEAST))


# By the function wada_snr in Python that was made from Ellis's snreval, with the table of the method's authors.
PORT = [(-15, -15.34), (-5, -5.848), (0, -0.118), (10, 9.988), (20, 19.926), (40, 40.273), (None, 100.0)]


@pytest.mark.parametrize(("snr", "expected"), PORT)
def test_the_ratio_is_that_of_the_port_of_the_authors_program(snr: float | None, expected: float) -> None:
    assert ratio(speech_in_noise(snr)) == pytest.approx(expected, abs=0.02)


def test_the_ratio_is_that_of_the_mixture_and_does_not_depend_on_the_level() -> None:
    samples = speech_in_noise(15)
    assert ratio(samples) == pytest.approx(15, abs=0.5)
    assert ratio(samples / 100) == pytest.approx(ratio(samples), abs=1e-3)
    integers = np.rint(samples * 1000).astype(np.int16)
    # As in a store; sums are compiled for those anyway.
    integers.flags.writeable = False
    assert ratio(integers) == pytest.approx(15, abs=1)


def test_noise_alone_has_a_low_ratio() -> None:
    assert ratio(np.random.default_rng(0).normal(size=50_000).astype(np.float32)) < -8
