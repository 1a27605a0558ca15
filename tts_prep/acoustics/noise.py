"""Signal-to-noise ratio of speech from the distribution of its samples."""

from __future__ import annotations

import math

import numpy as np

from tts_prep.acoustics.levels import SampleSums

LOWEST_DB, HIGHEST_DB = -20, 100
"""The range of the table; results are clipped to it."""

LEAST = 1e-10
"""The minimum magnitude relative to the peak."""

_CURVE = np.array(
    [
        *(0.40975, 0.40987, 0.40999, 0.40969, 0.40986, 0.40999, 0.41027, 0.41053, 0.41101, 0.41143, 0.41232),
        *(0.41337, 0.41526, 0.41782, 0.42077, 0.42453, 0.42919, 0.43510, 0.44234, 0.45161, 0.46221, 0.47492),
        *(0.48884, 0.50509, 0.52354, 0.54372, 0.56532, 0.58848, 0.61346, 0.63954, 0.66751, 0.69584, 0.72455),
        *(0.75415, 0.78323, 0.81241, 0.84220, 0.87166, 0.90031, 0.92880, 0.95655, 0.98353, 1.01047, 1.03621),
        *(1.06136, 1.08579, 1.10948, 1.13278, 1.15473, 1.17627, 1.19704, 1.21672, 1.23536, 1.25364, 1.27104),
        *(1.28718, 1.30303, 1.31840, 1.33295, 1.34701, 1.36057, 1.37346, 1.38577, 1.39734, 1.40856, 1.41960),
        *(1.42984, 1.43958, 1.44902, 1.45805, 1.46670, 1.47487, 1.48270, 1.49034, 1.49748, 1.50435, 1.51076),
        *(1.51699, 1.52291, 1.52858, 1.53390, 1.53912, 1.54391, 1.54859, 1.55311, 1.55744, 1.56165, 1.56566),
        *(1.56939, 1.57308, 1.57655, 1.57980, 1.58304, 1.58602, 1.58881, 1.59162, 1.59420, 1.59693, 1.59945),
        *(1.60185, 1.60409, 1.60627, 1.60826, 1.61005, 1.61192, 1.61370, 1.61534, 1.61689, 1.61839, 1.61985),
        *(1.62136, 1.62268, 1.62390, 1.62513, 1.62632, 1.62740, 1.62843, 1.62946, 1.63033, 1.63128, 1.63204),
    ]
)
"""ln E|x| − E ln|x| at −20, −19, …, 100 dB, for speech with a gamma distribution of shape 0.4 and Gaussian noise.

The table of WADA-SNR: Kim and Stern, Robust Signal-to-Noise Ratio Estimation Based on Waveform Amplitude Distribution
Analysis, Interspeech 2008.
"""


def wada_snr(sums: SampleSums) -> float:
    """Return the signal-to-noise ratio of a recording by WADA-SNR in dB, LOWEST_DB to HIGHEST_DB.

    The method assumes speech with pauses and Gaussian noise.

    Args:
        sums: the sums of a recording that is not all zeros, with LEAST times its peak as ``least``.
    """
    statistic = math.log(sums.magnitudes / sums.n_samples) - sums.logarithms / sums.n_samples
    below = np.flatnonzero(statistic > _CURVE)
    if not len(below):
        return float(LOWEST_DB)
    at = int(below[-1])
    if at == len(_CURVE) - 1:
        return float(HIGHEST_DB)
    return LOWEST_DB + at + float((statistic - _CURVE[at]) / (_CURVE[at + 1] - _CURVE[at]))
