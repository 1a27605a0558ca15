"""Detection of transcripts of the wrong length, by residuals of a robust regression of duration on phones."""

import numpy as np
import numpy.typing as npt

LEAST_UTTERANCES = 30
"""The minimum number of utterances of a speaker for a separate fit; other speakers are fitted together."""

_GROUP = 100
"""The number of utterances of similar predicted duration from which the spread is estimated."""

_TUKEY = 4.685
"""Tukey's constant of the bisquare, in standard deviations: 95 % efficient for normal residuals (Holland and Welsch,
1977)."""

_TO_STD = 1.4826
"""The ratio of standard deviation to median absolute deviation of a normal distribution."""

_CUT, _CUT_STD = 2.5, 0.9546
"""Residuals beyond 2.5 standard deviations are outliers. Truncating a normal distribution there reduces its standard
deviation by the factor 0.9546: √(1 − 2cφ(c) / (2Φ(c) − 1))."""

_LEAST_SPREAD = 0.03
"""The minimum spread relative to the predicted duration. Synthetic speech has less, so anything would be an outlier."""

_ROUNDS = 20

Floats = npt.NDArray[np.float64]


def mismatch_scores(seconds: Floats, phones: Floats, pauses: Floats, speakers: npt.NDArray[np.int64]) -> Floats:
    """Return the difference of actual and predicted duration of each recording in standard deviations, [n].

    ``seconds = a + b · phones + c · pauses`` is fitted to each speaker by iteratively reweighted least squares with
    Tukey's bisquare. A residual is divided by the robust spread of the residuals of utterances of similar predicted
    duration, so that short and long utterances are flagged equally often.

    Args:
        seconds: [n], durations without the silence at both ends.
        phones: [n], numbers of phones.
        pauses: [n], numbers of punctuation marks and symbols of silence.
        speakers: [n], codes.

    Returns:
        [n], NaN if there are fewer than LEAST_UTTERANCES for the fit, or a duration is unknown.
    """
    scores = np.full(len(seconds), np.nan)
    known = np.isfinite(seconds)
    for rows in _fitted_together(np.where(known, speakers, -1)):
        scores[rows] = _scores(seconds[rows], phones[rows], pauses[rows])
    return scores


def rank_correlations(
    seconds: Floats, phones: Floats, speakers: npt.NDArray[np.int64], names: tuple[str, ...]
) -> dict[str, float]:
    """Return Spearman's rank correlation of phones and durations by speaker, for speakers whose values vary by 15 %."""
    correlations = {}
    for code, name in enumerate(names):
        rows = np.flatnonzero((speakers == code) & np.isfinite(seconds))
        if len(rows) < LEAST_UTTERANCES or min(_variation(seconds[rows]), _variation(phones[rows])) < 0.15:
            continue
        correlations[name] = float(np.corrcoef(_ranks(seconds[rows]), _ranks(phones[rows]))[0, 1])
    return correlations


def _variation(values: Floats) -> float:
    mean = float(values.mean())
    return float(values.std()) / mean if mean > 0 else 0.0


def _ranks(values: Floats) -> Floats:
    """Return ranks; equal values have the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _fitted_together(speakers: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    order = np.argsort(speakers, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(speakers[order])) + 1)
    groups = [rows for rows in groups if len(rows) and speakers[rows[0]] >= 0]
    large = [rows for rows in groups if len(rows) >= LEAST_UTTERANCES]
    small = [rows for rows in groups if len(rows) < LEAST_UTTERANCES]
    rest = np.concatenate(small) if small else np.empty(0, np.int64)
    return [*large, rest] if len(rest) >= LEAST_UTTERANCES else large


def _scores(seconds: Floats, phones: Floats, pauses: Floats) -> Floats:
    predicted = np.maximum(_fit(seconds, phones, pauses), 1e-3)
    residuals = seconds - predicted
    order = np.argsort(predicted, kind="stable")
    groups = np.array_split(order, max(1, len(order) // _GROUP))
    centres = np.array([np.median(predicted[rows]) for rows in groups])
    # Interpolation needs increasing centres, but groups of equal predictions have equal ones.
    centres, first = np.unique(centres, return_index=True)
    spreads = np.array([_spread(residuals[groups[i]]) for i in first])
    spread = np.maximum(np.interp(predicted, centres, spreads), _LEAST_SPREAD * predicted)
    scores: Floats = residuals / spread
    return scores


def _spread(residuals: Floats) -> float:
    """Return the standard deviation of residuals around 0 without outliers.

    The median absolute deviation is only used to detect outliers, because it is inaccurate: for a uniform distribution,
    it is 1.3 times the standard deviation.
    """
    spread = _TO_STD * float(np.median(np.abs(residuals)))
    for _ in range(3):
        kept = residuals[np.abs(residuals) <= _CUT * spread]
        spread = float(np.sqrt((kept**2).mean())) / _CUT_STD
    return spread


def _fit(seconds: Floats, phones: Floats, pauses: Floats) -> Floats:
    """Return the predicted durations."""
    # Longer utterances vary more, so rows are weighted by the inverse square root of the number of phones.
    weight = 1 / np.sqrt(np.maximum(phones, 1))
    rate = float(np.median(seconds / np.maximum(phones, 1)))
    design = np.stack([np.ones_like(phones), phones, pauses], axis=1)
    predicted = rate * phones
    for _ in range(_ROUNDS):
        scaled = (seconds - predicted) * weight
        scale = _TO_STD * float(np.median(np.abs(scaled)))
        if scale < 1e-9:
            break
        bisquare = np.maximum(1 - (scaled / (_TUKEY * scale)) ** 2, 0)
        rows = weight * bisquare
        solution = np.linalg.lstsq(design * rows[:, None], seconds * rows, rcond=None)[0]
        previous, predicted = predicted, design @ solution
        if float(np.abs(predicted - previous).max()) < 1e-4:
            break
    return predicted
