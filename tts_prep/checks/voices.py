"""Detection of utterances of another voice than their speaker's, by the long-term spectrum and the pitch."""

import math
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
from tts_prep.acoustics.threads import product
from tts_prep.compiler import Compiled

N_CEPSTRA: Final = 20
"""The number of cepstral coefficients, without the first, which is the level."""

SIZE: Final = 2 * N_CEPSTRA
"""The size of a description: means, then standard deviations."""

LEAST_IN_STORE, LEAST_OF_SPEAKER = 100, 8
"""The minimum numbers of utterances of a store, and of a speaker."""

_SPEECH_DB: Final = 30.0
"""The level below the loudest frame down to which frames are speech."""

_ROUNDS: Final = 3
_KEPT: Final = 0.8
"""The share of the utterances of each speaker, the nearest ones, from which a voice is estimated."""

_SHRINKAGE: Final = 0.1
"""The weight of the diagonal in the covariance, because there may be few utterances for so many numbers."""

_TO_STD: Final = 1.4826
"""The ratio of standard deviation to median absolute deviation of a normal distribution."""

_AT_A_TIME: Final = 4096

Floats = npt.NDArray[np.float64]


def describe(mels: Mels, decibels: float) -> Floats:
    """Return the means and standard deviations of the cepstra of the speech of each recording in dB, [n, SIZE].

    They describe the long-term spectrum and how much it varies; NaN without two frames of speech.
    """
    n_mels = mels.frames.shape[1]
    n_cepstra = min(N_CEPSTRA, n_mels - 1)
    bins = np.pi * (np.arange(n_mels) + 0.5) / n_mels
    cosines = np.cos(bins[:, None] * np.arange(1, n_cepstra + 1)) * math.sqrt(2 / n_mels) * decibels
    cepstra = product(mels.frames, cosines.astype(np.float32))
    sums, counts = np.zeros((len(mels.loudest), 2, n_cepstra)), np.zeros((len(mels.loudest), 1))
    least = mels.loudest - np.float32(_SPEECH_DB / decibels)
    _add_speech(mels.highest, cepstra, mels.starts, least, sums, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        means, squares = np.where(counts[:, None] > 1, sums / counts[:, None], np.nan).swapaxes(0, 1)
    described = np.zeros((len(mels.loudest), SIZE))
    described[:, :n_cepstra] = means
    described[:, N_CEPSTRA : N_CEPSTRA + n_cepstra] = np.sqrt(np.maximum(squares - np.square(means), 0))
    return described


@partial(Compiled, any_order=True)
def _add_speech(highest: Any, cepstra: Any, starts: Any, least: Any, sums: Any, counts: Any) -> None:
    """Add the cepstra of the frames of speech of each recording, their squares and their number.

    Args:
        highest: [n_frames] float32, the maximum of each frame.
        least: [n] float32, the level above which a frame is speech.
        sums: [n, 2, n_cepstra] float64.
        counts: [n, 1] float64.
    """
    for recording in range(len(least)):
        of_recording, of_squares = sums[recording]
        for number in range(starts[recording], starts[recording + 1]):
            values = cepstra[number]
            if highest[number] > least[recording]:
                counts[recording, 0] += 1
                for i in range(len(values)):
                    value = np.float64(values[i])
                    of_recording[i] += value
                    of_squares[i] += value * value


def voice_distances(described: Floats, pitches: Floats, speakers: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return how far each utterance is from the voice of its speaker, and this relative to the nearest other speaker.

    A distance is Mahalanobis', with the covariance within speakers. The mean of a speaker and the covariance are
    estimated in three rounds from the nearest 80 % of the utterances of each speaker, at first with medians.

    Args:
        described: [n, SIZE], from `describe`.
        pitches: [n], mean pitches in Hz, or NaN; their logarithms are used like the cepstra.
        speakers: [n], codes.

    Returns:
        Distances divided by their median, [n], and divided by those from the nearest other speaker, [n]; NaN for
        speakers of fewer than LEAST_OF_SPEAKER utterances, and in stores of fewer than LEAST_IN_STORE; the second
        also if there is no other speaker.
    """
    own, others = np.full(len(speakers), np.nan), np.full(len(speakers), np.nan)
    known = np.isfinite(described).all(axis=1)
    counts = np.bincount(speakers[known], minlength=int(speakers.max(initial=-1)) + 1)
    rows = np.flatnonzero(known & (counts[speakers] >= LEAST_OF_SPEAKER))
    if len(rows) < LEAST_IN_STORE:
        return own, others
    _, codes = np.unique(speakers[rows], return_inverse=True)
    whitened, centres = _whitened(_with_pitch(described[rows], pitches[rows], codes), codes)
    distances = np.sqrt(np.square(whitened - centres[codes]).sum(axis=1))
    own[rows] = distances / max(float(np.median(distances)), 1e-12)
    if len(centres) > 1:
        others[rows] = distances / np.maximum(_nearest_others(whitened, centres, codes), 1e-12)
    return own, others


def _with_pitch(values: Floats, pitches: Floats, codes: npt.NDArray[np.int64]) -> Floats:
    """Return descriptions with the logarithm of the pitch; where it is not known, the median of the speaker's."""
    logarithms = np.log(np.where(pitches > 0, pitches, np.nan))
    if not np.isfinite(logarithms).any():
        return values
    usual = float(np.nanmedian(logarithms))
    for code in range(int(codes.max()) + 1):
        of = np.flatnonzero(codes == code)
        unknown = np.isnan(logarithms[of])
        logarithms[of[unknown]] = usual if unknown.all() else float(np.nanmedian(logarithms[of]))
    return np.column_stack([values, logarithms])


def _whitened(values: Floats, codes: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return values and means of speakers in which the covariance within speakers is 1, [n, k] and [n_speakers, k]."""
    of_speakers = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    kept = np.ones(len(codes), bool)
    for number in range(_ROUNDS):
        centre = np.mean if number else np.median
        centres = np.stack([centre(values[rows[kept[rows]]], axis=0) for rows in of_speakers])
        rest = values - centres[codes]
        if number:
            freedom = max(1, int(kept.sum()) - len(of_speakers))
            covariance = rest[kept].T @ rest[kept] / freedom
        else:
            covariance = np.diag(np.square(_TO_STD * np.median(np.abs(rest), axis=0)))
        variances = np.diag(covariance) + 1e-9
        # A number that is the same in all utterances has no weight.
        scale = np.where(variances > 1e-8, 1 / np.sqrt(variances), 0)
        correlation = (1 - _SHRINKAGE) * covariance * np.outer(scale, scale) + _SHRINKAGE * np.eye(len(scale))
        correlation[np.diag_indices(len(scale))] = 1
        root = np.linalg.inv(np.linalg.cholesky(correlation)).T
        distances = np.square((rest * scale) @ root).sum(axis=1)
        for rows in of_speakers:
            kept[rows] = distances[rows] <= np.quantile(distances[rows], _KEPT)
    return (values * scale) @ root, (centres * scale) @ root


def _nearest_others(values: Floats, centres: Floats, codes: npt.NDArray[np.int64]) -> Floats:
    """Return the distance from the nearest mean of another speaker, [n]."""
    nearest = np.empty(len(values))
    squares = np.square(centres).sum(axis=1)
    for start in range(0, len(values), _AT_A_TIME):
        some, of = values[start : start + _AT_A_TIME], codes[start : start + _AT_A_TIME]
        distances = np.square(some).sum(axis=1)[:, None] - 2 * some @ centres.T + squares
        distances[np.arange(len(some)), of] = np.inf
        nearest[start : start + _AT_A_TIME] = np.sqrt(np.maximum(distances.min(axis=1), 0))
    return nearest
