"""An acoustic model of phones that is trained on the store itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
from tts_prep.acoustics.phones.viterbi import SILENCE, Scores, Transcript, frame_places
from tts_prep.acoustics.threads import map_slices, product
from tts_prep.compiler import Compiled

N_COEFFICIENTS = 13
"""The number of cepstral coefficients; their slopes are as many additional features."""

_RANGE_DB, _SPEECH_DB = 70.0, 35.0
"""Levels below the loudest frame, at which values are clipped and below which frames are not speech."""

_ROUNDS = 6
_TRUSTED_FROM, _TRUSTED = 2, 0.8
"""From this round on, only the best share of the transcripts is used, because the others may be wrong."""

_PRIOR = 20.0
"""The weight of the mean of all frames in the mean of a phone, as a number of frames."""

_FLOOR = 1e-3
"""The share of the mean variance that is added to each variance."""

_LEAST_FLOOR = 1e-6
"""The minimum of what is added: frames that are all the same have no variance."""

_LEAST_VARIANCE = 1e-4
"""The minimum variance of a coefficient to which it is scaled, dB²."""

_AT_A_TIME = 15_000
"""The number of frames that a thread aligns at a time."""

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Features:
    """The features of several recordings, one after another.

    Attributes:
        frames: [n_frames, n_features] float32.
        speech: [n_frames], whether each frame is speech.
        starts: [n + 1] int64, the first frame of each recording, and the number of frames.
    """

    frames: Floats
    speech: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]


def n_features(n_mels: int) -> int:
    """Return the number of features of a frame."""
    return 2 * min(N_COEFFICIENTS, n_mels)


def features(mels: Mels, decibels: float, per_frame: int, *, scaled: bool = False) -> Features:
    """Return `n_features` features of every ``per_frame`` frames.

    The features are cepstral coefficients (Davis and Mermelstein, 1980) and their slopes. The mean over the speech of
    the recording is subtracted, which removes the influence of level, microphone and much of the speaker.

    Args:
        decibels: decibels per unit of the mels.
        per_frame: the number of mel frames that are averaged. The last frames of a recording that are fewer are not
            used. A recording with values that are not finite has no features; others report the damage.
        scaled: divide the coefficients by their standard deviations over the speech of the recording, which removes
            the influence of noise and reverberation.
    """
    basis = _cosines(mels.frames.shape[1])
    n_frames = np.where(np.isfinite(mels.loudest), np.diff(mels.starts) // per_frame, 0)
    starts = np.concatenate(([0], np.cumsum(n_frames)))
    pooled, levels = np.empty((starts[-1], mels.frames.shape[1]), np.float32), np.empty(starts[-1], np.float32)
    least = mels.loudest - np.float32(_RANGE_DB / decibels)
    _pool(mels.frames, mels.starts, least, per_frame, np.float32(decibels / per_frame), starts, pooled, levels)
    frames, speech = np.empty((starts[-1], 2 * basis.shape[1]), np.float32), np.empty(starts[-1], np.bool_)
    _center_and_add_slopes(product(pooled, basis), levels, _SPEECH_DB, scaled, starts, frames, speech)
    return Features(frames, speech, starts)


@partial(Compiled, any_order=True)
def _pool(
    mels: Any, mel_starts: Any, least: Any, per_frame: int, scale: float, starts: Any, pooled: Any, levels: Any
) -> None:
    """Average the frames of recordings.

    Args:
        mels: [n_mel_frames, n_mels] float32, recordings one after another, each from its place in ``mel_starts``.
        least: [n] float32, the minimum of the values of each recording; smaller ones are replaced by it.
        starts: [n + 1] int64, the first place of each recording in the results.
        pooled: [n_frames, n_mels] float32, filled with the sums of every ``per_frame`` frames times ``scale``.
        levels: [n_frames] float32, filled with their maxima.
    """
    for recording in range(len(least)):
        minimum = least[recording]
        for number in range(starts[recording], starts[recording + 1]):
            first = mel_starts[recording] + (number - starts[recording]) * per_frame
            last, total, level = first + per_frame - 1, pooled[number], np.float32(-np.inf)
            total[:] = 0
            for frame in mels[first:last]:
                for i in range(len(total)):
                    total[i] += max(frame[i], minimum) * scale
            frame = mels[last]
            for i in range(len(total)):
                value = total[i] + max(frame[i], minimum) * scale
                total[i], level = value, max(level, value)
            levels[number] = level


@Compiled
def _center_and_add_slopes(
    cepstra: Any, levels: Any, range_db: float, scaled: bool, starts: Any, frames: Any, speech: Any
) -> None:
    """Fill `Features.frames` and `Features.speech` from cepstral coefficients, [n_frames, n_coefficients]."""
    size = cepstra.shape[1]
    means, scales = np.empty(size), np.ones(size)
    for recording in range(len(starts) - 1):
        start, stop = starts[recording], starts[recording + 1]
        if start == stop:
            continue
        loudest = levels[start]
        for number in range(start, stop):
            loudest = max(loudest, levels[number])
        means[:] = 0
        n_speech = 0
        for number in range(start, stop):
            speech[number] = levels[number] > loudest - range_db
            if speech[number]:
                n_speech += 1
                for i in range(size):
                    means[i] += cepstra[number, i]
        for i in range(size):
            means[i] /= n_speech
        if scaled:
            scales[:] = 0
            for number in range(start, stop):
                if speech[number]:
                    for i in range(size):
                        scales[i] += (cepstra[number, i] - means[i]) ** 2
            for i in range(size):
                scales[i] = 1 / np.sqrt(max(scales[i] / n_speech, _LEAST_VARIANCE))
        for number in range(start, stop):
            before, after = cepstra[max(number - 1, start)], cepstra[min(number + 1, stop - 1)]
            # The first and the last frame have no slopes.
            weight = 0.5 if start < number < stop - 1 else 0.0
            for i in range(size):
                frames[number, i] = (cepstra[number, i] - means[i]) * scales[i]
                frames[number, size + i] = (after[i] - before[i]) * weight * scales[i]


@lru_cache(maxsize=4)
def _cosines(n_mels: int) -> Floats:
    """Return the basis of the cepstral coefficients, [n_mels, min(N_COEFFICIENTS, n_mels)]."""
    bins = np.arange(n_mels) + 0.5
    basis = np.cos(np.pi / n_mels * np.outer(bins, np.arange(min(N_COEFFICIENTS, n_mels)))) * np.sqrt(2 / n_mels)
    floats: Floats = basis.astype(np.float32)
    return floats


@dataclass(frozen=True, eq=False)
class PhoneModel:
    """Normal distributions of the classes with a common covariance, so that scores are linear in the features.

    Attributes:
        weights: [n_features, n_classes] float32.
        offsets: [n_classes] float32.
    """

    weights: Floats
    offsets: Floats

    def scores(self, frames: Floats) -> tuple[Scores, Floats]:
        """Return the log-likelihoods of classes relative to that of the best one, and their standard deviations.

        Returns:
            [n_frames, n_classes] and [n_frames].
        """
        scores: Scores = product(frames, self.weights)
        deviations = np.empty(len(frames), np.float32)
        _relate_to_best(scores, self.offsets, deviations)
        return scores, deviations


def fit(
    frames: Sequence[Floats], speech: Sequence[npt.NDArray[np.bool_]], transcripts: Sequence[Transcript], n_classes: int
) -> PhoneModel:
    """Train a model on recordings and their transcripts, some of which may be wrong.

    The initial alignment assigns an equal share of the speech to each phone.

    Args:
        frames, speech: features and whether they are speech, one array per recording, with at least as many frames as
            phones.
        transcripts: one per recording.
        n_classes: the number of classes, including silence.
    """
    products = outer_products(frames)

    def estimated(classes: Sequence[Integers], rows: Integers) -> PhoneModel:
        return estimate(*class_sums(frames, classes, rows, n_classes), products[rows].sum(axis=0))

    return alternate(frames, transcripts, initial_classes(speech, transcripts), estimated)[0]


def alternate(
    frames: Sequence[Floats],
    transcripts: Sequence[Transcript],
    classes: Sequence[Integers],
    estimated: Callable[[Sequence[Integers], Integers], PhoneModel],
) -> tuple[PhoneModel, list[Integers]]:
    """Alternate estimation and alignment (Viterbi training).

    Args:
        classes: the initial classes of the frames of each recording.
        estimated: returns the model from the classes of the frames of all recordings, and the recordings to use.

    Returns:
        The model, and the place in the transcript of each frame in the last alignment of each recording.
    """
    trusted = np.arange(len(frames))
    places: list[Integers] = []
    for number in range(_ROUNDS):
        model = estimated(classes, trusted)
        slices = map_slices(partial(_align_slice, model, frames, transcripts), map(len, frames), _AT_A_TIME)
        aligned = [of_row for of_slice in slices for of_row in of_slice]
        places = [of_row for of_row, _ in aligned]
        classes = [transcript.classes[of_row] for transcript, of_row in zip(transcripts, places, strict=True)]
        trusted = np.argsort([-mean for _, mean in aligned], kind="stable")
        if number >= _TRUSTED_FROM:
            trusted = trusted[: int(np.ceil(_TRUSTED * len(trusted)))]
    return estimated(classes, trusted), places


def _align_slice(
    model: PhoneModel, frames: Sequence[Floats], transcripts: Sequence[Transcript], rows: slice
) -> list[tuple[Integers, float]]:
    """Return the place in the transcript of each frame of each recording, [n_frames], and the mean of their scores."""
    aligned = []
    for frames_of_row, transcript in zip(frames[rows], transcripts[rows], strict=True):
        scores, _ = model.scores(frames_of_row)
        places = frame_places(scores, transcript)
        aligned.append((places, float(scores[np.arange(len(scores)), transcript.classes[places]].mean())))
    return aligned


def initial_classes(speech: Sequence[npt.NDArray[np.bool_]], transcripts: Sequence[Transcript]) -> list[Integers]:
    """Return the classes of the frames of each recording, with an equal share of the speech for each phone."""
    return [_equal_shares(*pair) for pair in zip(speech, transcripts, strict=True)]


def _equal_shares(speech: npt.NDArray[np.bool_], transcript: Transcript) -> Integers:
    classes = np.full(len(speech), SILENCE, np.int64)
    phones = transcript.classes[~transcript.optional]
    at = np.flatnonzero(speech)
    classes[at] = phones[np.arange(len(at)) * len(phones) // len(at)]
    return classes


def outer_products(frames: Sequence[Floats]) -> npt.NDArray[np.float64]:
    """Return the sum of the outer products of the frames of each recording, [n, n_features, n_features]."""
    return np.array([rows.T @ rows for rows in frames], np.float64)


def class_sums(
    frames: Sequence[Floats], classes: Sequence[Integers], rows: Integers, n_classes: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the sums of the frames of each class, [n_classes, n_features], and their numbers, [n_classes].

    Args:
        classes: the classes of the frames of each recording.
        rows: the recordings to use.
    """
    sums, counts = np.zeros((n_classes, frames[0].shape[1])), np.zeros(n_classes)
    for row in rows.tolist():
        _add_by_class(frames[row], classes[row], sums, counts)
    return sums, counts


def estimate(
    sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], products: npt.NDArray[np.float64]
) -> PhoneModel:
    """Return the model from the sums of the frames of each class.

    Args:
        sums, counts: from `class_sums`.
        products: [n_features, n_features], the sum of the outer products of all these frames.
    """
    size, n = sums.shape[1], counts.sum()
    means = (sums + _PRIOR * sums.sum(axis=0) / n) / (counts + _PRIOR)[:, None]
    # The mean of (x - m)(x - m)' over all frames, where m is the mean of the frame's class.
    cross = sums.T @ means
    covariance = (products - cross - cross.T + (means.T * counts) @ means) / n
    covariance += max(_FLOOR * np.trace(covariance) / size, _LEAST_FLOOR) * np.eye(size)
    weights = np.linalg.solve(covariance, means.T)
    offsets = -0.5 * np.einsum("cf,fc->c", means, weights)
    return PhoneModel(weights.astype(np.float32), offsets.astype(np.float32))


@Compiled
def _add_by_class(frames: Any, classes: Any, sums: Any, counts: Any) -> None:
    """Add frames, [n, n_features], to the sums of their classes, [n_classes, n_features], and to their counts."""
    for i in range(len(frames)):
        counts[classes[i]] += 1
        for j in range(frames.shape[1]):
            sums[classes[i], j] += frames[i, j]


@partial(Compiled, any_order=True)
def _relate_to_best(scores: Any, offsets: Any, deviations: Any) -> None:
    """Add offsets, [n_classes], to scores, subtract the maximum of each frame, and fill in standard deviations."""
    for number in range(len(scores)):
        row, n = scores[number], len(offsets)
        best, total, squares = row[0] + offsets[0], 0.0, 0.0
        for i in range(n):
            value = row[i] + offsets[i]
            best = max(best, value)
            total += value
            squares += float(value) * float(value)
            row[i] = value
        for i in range(n):
            row[i] -= best
        deviations[number] = np.sqrt(max(squares / n - (total / n) ** 2, 0.0))
