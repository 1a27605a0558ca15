"""Phonemes and frames: averages over durations, length regulation, alignment priors."""

from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

Averaging = Literal["all", "nonzero"]


def average_by_duration(
    values: npt.ArrayLike, durations: npt.ArrayLike, over: Averaging = "all"
) -> npt.NDArray[np.float64]:
    """Return the mean over the frames of each phoneme; 0 for a phoneme without frames.

    ``"all"`` is the rule of ming024/FastSpeech2 and PaddleSpeech, for interpolated pitch and for energy. ``"nonzero"``
    is the rule of FastPitch and ESPnet: frames of value 0 are unvoiced and excluded, and a phoneme with only such
    frames gets 0.

    Example:
        >>> from tts_prep.loader import average_by_duration
        >>> average_by_duration([100.0, 110.0, 0.0, 120.0], durations=[2, 2]).tolist()
        [105.0, 60.0]
        >>> average_by_duration([100.0, 110.0, 0.0, 120.0], durations=[2, 2], over="nonzero").tolist()
        [105.0, 120.0]

    Args:
        values: [..., n_frames].
        durations: [n_phonemes] in frames; frames beyond their sum are not used.

    Returns:
        [..., n_phonemes] float64.

    Raises:
        ConfigurationError: a duration is negative, their sum exceeds n_frames, or `over` is neither.
    """
    if over not in ("all", "nonzero"):
        raise ConfigurationError(f"average_by_duration: over: expected 'all' or 'nonzero', found {over!r}")
    frames = np.asarray(values, np.float64)
    ends = _ends(durations, frames.shape[-1])
    starts = np.concatenate([[0], ends[:-1]])
    counts = ends - starts
    # For a phoneme without frames, reduceat would return the value at its start, or fail at the end.
    spoken = counts > 0
    used = frames[..., : ends[-1] if len(ends) else 0]
    sums = np.zeros((*frames.shape[:-1], len(ends)))
    if not spoken.any():
        return sums
    sums[..., spoken] = np.add.reduceat(used, starts[spoken], axis=-1)
    n_values: npt.NDArray[Any] = np.broadcast_to(counts, sums.shape)
    if over == "nonzero":
        n_values = np.zeros(sums.shape, np.int64)
        n_values[..., spoken] = np.add.reduceat((used != 0).astype(np.int64), starts[spoken], axis=-1)
    means: npt.NDArray[np.float64] = np.divide(sums, n_values, out=np.zeros_like(sums), where=n_values > 0)
    return means


def expand_by_duration(values: npt.ArrayLike, durations: npt.ArrayLike) -> npt.NDArray[Any]:
    """Repeat each row by its duration, as a length regulator does.

    Args:
        values: [n_phonemes, ...].
        durations: [n_phonemes] in frames.

    Returns:
        [sum of durations, ...], in the dtype of `values`.

    Raises:
        ConfigurationError: a duration is negative, or the number of durations is not that of rows.
    """
    rows, repeats = np.asarray(values), np.asarray(durations)
    if repeats.shape != rows.shape[:1] or (len(repeats) and repeats.min() < 0):
        raise ConfigurationError(
            f"expand_by_duration: expected {len(rows)} non-negative durations, found {list(repeats.shape)}"
            + (f", the smallest {repeats.min()}" if repeats.size else "")
        )
    return np.repeat(rows, repeats, axis=0)


def beta_binomial_prior(n_phonemes: int, n_frames: int, scaling: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the beta-binomial alignment prior: the probability of each phoneme at each frame.

    Row *t*, counted from 1, is the beta-binomial distribution of n_phonemes draws with α = scaling · t and
    β = scaling · (n_frames + 1 − t), at 0 to n_phonemes − 1, as in FastPitch 1.1 and NeMo (R. Badlani et al., One TTS
    Alignment To Rule Them All, 2021).

    Args:
        n_phonemes, n_frames: at least 1.
        scaling: above 0; a larger value gives a narrower diagonal.

    Returns:
        [n_frames, n_phonemes] float64.

    Raises:
        ConfigurationError: an argument is too small.
    """
    if n_phonemes < 1 or n_frames < 1 or not scaling > 0:
        raise ConfigurationError(
            f"beta_binomial_prior: expected at least 1 phoneme, 1 frame and a scaling above 0, found {n_phonemes}, "
            f"{n_frames} and {scaling}"
        )
    n = n_phonemes
    a = scaling * np.arange(1, n_frames + 1)[:, None]
    b = a[::-1]
    k = np.arange(n)
    # P(0) = Π (b + j) / (a + b + j), and P(k + 1) / P(k) = (n − k) (k + a) / ((k + 1) (n − k − 1 + b)).
    log_first = (np.log(b + k) - np.log(a + b + k)).sum(axis=1, keepdims=True)
    steps = np.log((n - k[:-1]) / (k[:-1] + 1)) + np.log(k[:-1] + a) - np.log(n - k[:-1] - 1 + b)
    prior: npt.NDArray[np.float64] = np.exp(np.concatenate([log_first, log_first + np.cumsum(steps, axis=1)], axis=1))
    return prior


def interpolated_prior(
    n_phonemes: int, n_frames: int, phoneme_step: int = 20, frame_step: int = 100
) -> npt.NDArray[np.float64]:
    """Return FastPitch's interpolated prior: a cached prior of rounded size, resized to the requested size.

    FastPitch swaps the arguments: the distribution is over the *frames* at each phoneme. This function does the same,
    because models were trained with it.

    Args:
        n_phonemes, n_frames: at least 1.
        phoneme_step, frame_step: sizes are rounded to multiples of these.

    Returns:
        [n_frames, n_phonemes] float64.

    Raises:
        ConfigurationError: an argument is too small.
    """
    if min(n_phonemes, n_frames, phoneme_step, frame_step) < 1:
        raise ConfigurationError(
            f"interpolated_prior: expected at least 1 phoneme, 1 frame and steps of 1, found {n_phonemes}, {n_frames}, "
            f"{phoneme_step} and {frame_step}"
        )

    def rounded(size: int, step: int) -> int:
        return max(1, int(np.round((size + 1) / step))) * step

    prior = _cached_prior(rounded(n_frames, frame_step), rounded(n_phonemes, phoneme_step))
    return _resized(_resized(prior, n_frames).T, n_phonemes).T


@lru_cache(maxsize=256)
def _cached_prior(n_frames: int, n_phonemes: int) -> npt.NDArray[np.float64]:
    return beta_binomial_prior(n_frames, n_phonemes).T


def _resized(rows: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Interpolate rows linearly to another number of rows, keeping the first and the last."""
    # As in scipy.ndimage.zoom: if rounding puts the last place beyond the last row, the result is a row of zeros.
    places = np.arange(size) * ((len(rows) - 1) / (size - 1)) if size > 1 else np.zeros(1)
    below = np.minimum(places.astype(np.int64), len(rows) - 1)
    share = (places - below)[:, None]
    resized: npt.NDArray[np.float64] = rows[below] * (1 - share) + rows[np.minimum(below + 1, len(rows) - 1)] * share
    resized[places > len(rows) - 1] = 0
    return resized


def _ends(durations: npt.ArrayLike, n_frames: int) -> npt.NDArray[np.int64]:
    lengths = np.asarray(durations, np.int64)
    if lengths.size and lengths.min() < 0:
        raise ConfigurationError(f"average_by_duration: expected non-negative durations, found {lengths.min()}")
    ends: npt.NDArray[np.int64] = np.cumsum(lengths)
    if lengths.size and ends[-1] > n_frames:
        raise ConfigurationError(
            f"average_by_duration: expected durations of at most {n_frames:,} frames, found {ends[-1]:,}"
        )
    return ends
