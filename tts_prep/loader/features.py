"""Features in the shapes that models ask for: averages over phonemes, rows repeated by durations, alignment priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.utterances import UtteranceDataset

Averaging = Literal["all", "nonzero"]


def average_by_duration(
    values: npt.ArrayLike, durations: npt.ArrayLike, over: Averaging = "all"
) -> npt.NDArray[np.float64]:
    """Return the mean of the frames of each phoneme, 0 for a phoneme of no frames.

    ``"all"`` is the rule of ming024/FastSpeech2 and PaddleSpeech, for pitch without gaps, and for energy;
    ``"nonzero"`` that of FastPitch and ESPnet: frames of value 0 are unvoiced and left out, and a phoneme of such
    frames only gets 0.

    Args:
        values: [..., n_frames].
        durations: [n_phonemes] frames; frames behind their sum are not used.

    Returns:
        [..., n_phonemes] float64.

    Raises:
        ConfigurationError: a duration is negative, or their sum is more than the frames.
    """
    frames = np.asarray(values, np.float64)
    ends = _ends(durations, frames.shape[-1])
    starts = np.concatenate([[0], ends[:-1]])
    counts = ends - starts
    # reduceat would give the value at the start for a phoneme of no frames, and needs an index that exists.
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
    elif over != "all":
        raise ConfigurationError(f"average_by_duration: over: expected 'all' or 'nonzero', found {over!r}")
    means: npt.NDArray[np.float64] = np.divide(sums, n_values, out=np.zeros_like(sums), where=n_values > 0)
    return means


def expand_by_duration(values: npt.ArrayLike, durations: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return rows repeated as often as their durations say, as a length regulator does.

    Args:
        values: [n_phonemes, ...].
        durations: [n_phonemes] frames.

    Returns:
        [sum of durations, ...] of the same dtype.

    Raises:
        ConfigurationError: a duration is negative, or there are more or fewer than rows.
    """
    rows, repeats = np.asarray(values), np.asarray(durations)
    if repeats.shape != rows.shape[:1] or (len(repeats) and repeats.min() < 0):
        raise ConfigurationError(
            f"expand_by_duration: expected {len(rows)} durations from 0 on, found {list(repeats.shape)}"
            + (f", the smallest {repeats.min()}" if repeats.size else "")
        )
    return np.repeat(rows, repeats, axis=0)


def beta_binomial_prior(n_phonemes: int, n_frames: int, scaling: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the prior of an alignment that is learned: how probable each phoneme is at each frame.

    Row *t* (from 1 on) is the beta-binomial distribution with α = scaling · t and β = scaling · (n_frames + 1 − t),
    for 0 to n_phonemes − 1 of n_phonemes draws, as in FastPitch 1.1 and NeMo (R. Badlani et al., One TTS Alignment To
    Rule Them All, 2021).

    Args:
        n_phonemes, n_frames: at least 1.
        scaling: over 0; more is a narrower diagonal.

    Returns:
        [n_frames, n_phonemes] float64.

    Raises:
        ConfigurationError: a number is too small.
    """
    if n_phonemes < 1 or n_frames < 1 or not scaling > 0:
        raise ConfigurationError(
            f"beta_binomial_prior: expected a phoneme, a frame and a scaling over 0, found {n_phonemes}, {n_frames} "
            f"and {scaling}"
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
    """Return FastPitch's cheap prior: a cached prior of rounded size, interpolated to the size asked for.

    Its arguments are the other way round there: the distribution is over the *frames* at each phoneme. It is so here,
    because models were trained with it.

    Args:
        n_phonemes, n_frames: at least 1.
        phoneme_step, frame_step: sizes are rounded to multiples of these.

    Returns:
        [n_frames, n_phonemes] float64.
    """

    def rounded(size: int, step: int) -> int:
        return max(1, int(np.round((size + 1) / step))) * step

    kept = _kept_prior(rounded(n_frames, frame_step), rounded(n_phonemes, phoneme_step))
    return _resized(_resized(kept, n_frames).T, n_phonemes).T


@lru_cache(maxsize=256)
def _kept_prior(n_frames: int, n_phonemes: int) -> npt.NDArray[np.float64]:
    return beta_binomial_prior(n_frames, n_phonemes).T


def _resized(rows: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return rows interpolated linearly to another number of them, the first and the last one kept."""
    # As scipy.ndimage.zoom computes it: where the last place comes out a bit too far, its row is all zeros there.
    places = np.arange(size) * ((len(rows) - 1) / (size - 1)) if size > 1 else np.zeros(1)
    below = np.minimum(places.astype(np.int64), len(rows) - 1)
    share = (places - below)[:, None]
    resized: npt.NDArray[np.float64] = rows[below] * (1 - share) + rows[np.minimum(below + 1, len(rows) - 1)] * share
    resized[places > len(rows) - 1] = 0
    return resized


@dataclass(frozen=True, eq=False)
class ArrayNormalizer:
    """Subtract the mean and divide by the standard deviation of an added array, of the corpus or of each speaker.

    Attributes:
        mean, std: [*row_shape], or [n_speakers, *row_shape] by speaker; float32. Where nothing varies, std is 1.
        by_speaker: which of the two.
        keep_zeros: leave zeros as they are: in pitch they are unvoiced frames, as FastPitch has it.
    """

    mean: npt.NDArray[np.float32]
    std: npt.NDArray[np.float32]
    by_speaker: bool
    keep_zeros: bool

    @classmethod
    def of(cls, dataset: UtteranceDataset, name: str, by: str = "corpus") -> ArrayNormalizer:
        """Take the statistics of an array of a store; those of pitch are of voiced frames.

        Args:
            by: ``"corpus"`` or ``"speaker"``.

        Raises:
            ConfigurationError: the store has no such array, or `by` is neither.
        """
        if by not in ("corpus", "speaker"):
            raise ConfigurationError(f"by: expected 'corpus' or 'speaker', found {by!r}")
        found = dataset.statistics(name)
        mean, std = (found.speaker_mean, found.speaker_std) if by == "speaker" else (found.mean, found.std)
        return cls(
            np.asarray(mean, np.float32),
            np.where(std > 0, std, 1).astype(np.float32),
            by == "speaker",
            name == "pitch",
        )

    def transform(self, values: npt.ArrayLike, speaker: int = 0) -> npt.NDArray[np.float32]:
        """Return normalized values [n, *row_shape].

        Args:
            speaker: code; used with statistics by speaker.
        """
        rows = np.asarray(values, np.float32)
        mean, std = (self.mean[speaker], self.std[speaker]) if self.by_speaker else (self.mean, self.std)
        normalized = np.asarray((rows - mean) / std, np.float32)
        return np.where(rows == 0, np.float32(0), normalized) if self.keep_zeros else normalized


def without_outliers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the values within 1.5 interquartile ranges of the quartiles, as ming024/FastSpeech2 takes its statistics.

    Args:
        values: [n], at least one.
    """
    array: npt.NDArray[Any] = np.asarray(values)
    low, high = np.percentile(array, [25, 75])
    reach = 1.5 * (high - low)
    kept: npt.NDArray[Any] = array[(array > low - reach) & (array < high + reach)]
    return kept


def _ends(durations: npt.ArrayLike, n_frames: int) -> npt.NDArray[np.int64]:
    lengths = np.asarray(durations, np.int64)
    if lengths.size and lengths.min() < 0:
        raise ConfigurationError(f"average_by_duration: expected durations from 0 on, found {lengths.min()}")
    ends: npt.NDArray[np.int64] = np.cumsum(lengths)
    if lengths.size and ends[-1] > n_frames:
        raise ConfigurationError(f"average_by_duration: durations of {ends[-1]:,} frames, there are {n_frames:,}")
    return ends
