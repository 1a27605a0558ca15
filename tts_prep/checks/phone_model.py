"""What the phones of a store sound like, learned from the store itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.alignment import SILENCE, Scores, Transcript, frame_classes

FRAME_SECONDS = 0.023
"""About how much of a mel is averaged to one frame of the model."""

N_COEFFICIENTS = 13
"""Cepstral coefficients; their slopes are as many numbers more."""

MAX_CLASSES = 200
"""Phones that are told apart; the rarer ones of a table with more are one class."""

_RANGE_DB, _SPEECH_DB = 70.0, 35.0
"""Below the loudest frame: what is cut off, and what counts as speech."""

_ROUNDS = 6
_TRUSTED_FROM, _TRUSTED = 2, 0.8
"""From this round on, the best share of the transcripts is learned from: the others may not belong there."""

_PRIOR = 20.0
"""Frames: so much the mean of all frames weighs in the mean of a phone."""

_FLOOR = 1e-3
"""Of the mean variance, added to each."""

_BATCH = 64

Floats = npt.NDArray[np.float32]


def features(mel: Floats, decibels: float, per_frame: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return what the model sees of a mel, and which frames are speech.

    The numbers are cepstral coefficients (Davis and Mermelstein, 1980) less their mean over the speech of the
    recording, which takes away its level, microphone and much of its speaker; and their slopes.

    Args:
        mel: [n_frames, n_mels].
        decibels: in one unit of the mel.
        per_frame: frames of the mel that become one.

    Returns:
        [n_frames // per_frame, 2 * min(N_COEFFICIENTS, n_mels)] float32, and booleans.
    """
    n, n_mels = len(mel) // per_frame, mel.shape[1]
    levels = mel[: n * per_frame].astype(np.float32) * np.float32(decibels)
    if not n:
        return np.zeros((0, 2 * min(N_COEFFICIENTS, n_mels)), np.float32), np.zeros(0, np.bool_)
    levels = np.maximum(levels, levels.max() - np.float32(_RANGE_DB))
    levels = levels.reshape(n, per_frame, n_mels).mean(axis=1)
    loudest = levels.max(axis=1)
    speech = loudest > loudest.max() - _SPEECH_DB
    bins = np.arange(n_mels) + 0.5
    basis = np.cos(np.pi / n_mels * np.outer(bins, np.arange(min(N_COEFFICIENTS, n_mels)))) * np.sqrt(2 / n_mels)
    cepstrum = levels @ basis.astype(np.float32)
    cepstrum -= cepstrum[speech].mean(axis=0)
    slopes = np.zeros_like(cepstrum)
    slopes[1:-1] = (cepstrum[2:] - cepstrum[:-2]) / 2
    return np.concatenate([cepstrum, slopes], axis=1), speech


@dataclass(frozen=True, eq=False)
class PhoneModel:
    """One normal distribution for each class, all of one covariance: scores are linear in the features.

    Attributes:
        weights: [n_features, n_classes] float32.
        offsets: [n_classes] float32.
    """

    weights: Floats
    offsets: Floats

    def scores(self, frames: Floats) -> Scores:
        """Return the log-likelihood of frames in each class less that in the best one, [n_frames, n_classes]."""
        scores: Scores = frames @ self.weights + self.offsets
        scores -= scores.max(axis=1, keepdims=True)
        return scores


def fit(
    frames: Sequence[Floats], speech: Sequence[npt.NDArray[np.bool_]], transcripts: Sequence[Transcript], n_classes: int
) -> PhoneModel:
    """Learn a model from recordings and their transcripts, some of which may be wrong.

    At first every phone of a transcript has an equal share of the speech. Then the transcripts are aligned, the model
    is estimated from the alignments, and so on (Viterbi training).

    Args:
        frames, speech: as `features` gives them, one a recording, at least as many frames as phones.
        transcripts: one for each.
        n_classes: the classes of the transcripts, silence among them.
    """
    labels = [_equal_shares(*pair) for pair in zip(speech, transcripts, strict=True)]
    model = _estimate(np.concatenate(frames), np.concatenate(labels), n_classes)
    order = np.argsort([len(found) for found in frames], kind="stable")
    for number in range(_ROUNDS):
        means = np.zeros(len(frames))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH].tolist()
            scores = [model.scores(frames[row]) for row in rows]
            found = frame_classes(scores, [transcripts[row] for row in rows])
            for row, row_scores, classes in zip(rows, scores, found, strict=True):
                labels[row] = classes
                means[row] = row_scores[np.arange(len(classes)), classes].mean()
        trusted = np.argsort(-means, kind="stable")
        if number >= _TRUSTED_FROM:
            trusted = trusted[: int(np.ceil(_TRUSTED * len(trusted)))]
        kept = trusted.tolist()
        model = _estimate(
            np.concatenate([frames[row] for row in kept]), np.concatenate([labels[row] for row in kept]), n_classes
        )
    return model


def _equal_shares(speech: npt.NDArray[np.bool_], transcript: Transcript) -> npt.NDArray[np.int64]:
    classes = np.full(len(speech), SILENCE, np.int64)
    phones = transcript.classes[~transcript.optional]
    at = np.flatnonzero(speech)
    classes[at] = phones[np.arange(len(at)) * len(phones) // len(at)]
    return classes


def _estimate(frames: Floats, classes: npt.NDArray[np.int64], n_classes: int) -> PhoneModel:
    counts = np.bincount(classes, minlength=n_classes)
    sums = np.stack([np.bincount(classes, weights=values, minlength=n_classes) for values in frames.T], axis=1)
    means = (sums + _PRIOR * frames.mean(axis=0)) / (counts + _PRIOR)[:, None]
    residuals = frames - means[classes].astype(np.float32)
    covariance = (residuals.T @ residuals).astype(np.float64) / len(frames)
    size = len(covariance)
    covariance += _FLOOR * np.trace(covariance) / size * np.eye(size)
    weights = np.linalg.solve(covariance, means.T)
    offsets = -0.5 * np.einsum("cf,fc->c", means, weights)
    return PhoneModel(weights.astype(np.float32), offsets.astype(np.float32))
