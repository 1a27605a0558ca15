"""The estimated share of boundaries that are close to the true ones, from what is known without these."""

from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.model import Floats
from tts_prep.acoustics.phones.viterbi import Transcript, start_masses
from tts_prep.toml_files import read_toml

LIMIT_SECONDS: Final = 0.02
"""The difference up to which a boundary counts as close."""

_TABLE: Final = read_toml(__package__, "calibration.toml")
_LEAST, _MOST = 0.02, 0.995
"""The probabilities between which logarithms are taken."""


def start_mass(
    scores: Floats,
    states: Transcript,
    places: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    hop_seconds: float,
) -> float:
    """Return the mean probability that a phone begins within `LIMIT_SECONDS` of the place that it was given.

    Args:
        scores: of a recording, from `PhoneModel.scores`.
        states, places, starts: the aligned states, the one of each frame, and those at which phones begin.
        hop_seconds: seconds per frame.
    """
    scaled = scores * np.float32(_TABLE["weight"] * hop_seconds)
    window = max(1, round(LIMIT_SECONDS / hop_seconds))
    return float(start_masses(scaled, states, places, starts, window).mean(dtype=np.float64))


def estimated_share(mass: float, deviation: float, score: float) -> float:
    """Return the share of boundaries within `LIMIT_SECONDS` of the true ones.

    It is most / (1 + exp(-(constant + a · logit(mass) + b · ln(deviation) + c · score))), with the values of
    ``calibration.toml``.

    Args:
        mass: from `start_mass`: how certain the boundaries are.
        deviation: the mean standard deviation over the classes of the scores of frames: how distinct sounds are.
        score: that of the alignment: how well frames fit their phones.
    """
    bounded = min(max(mass, _LEAST), _MOST)
    exponent = _TABLE["constant"] + _TABLE["mass"] * np.log(bounded / (1 - bounded))
    exponent += _TABLE["deviation"] * np.log(max(deviation, _LEAST)) + _TABLE["score"] * score
    exponent = max(float(exponent), -500.0)  # exp overflows from about 709 on
    return round(float(_TABLE["most"] / (1 + np.exp(-exponent))), 4)
