"""An acoustic model of phones that is trained on the store itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.alignment import SILENCE, Scores, Transcript, frame_classes

FRAME_SECONDS = 0.023
"""The approximate duration of a frame of the model, to which mel frames are averaged."""

N_COEFFICIENTS = 13
"""The number of cepstral coefficients; their slopes are as many additional features."""

MAX_CLASSES = 200
"""The maximum number of classes; the rarest phones of larger tables share one class."""

_RANGE_DB, _SPEECH_DB = 70.0, 35.0
"""Levels below the loudest frame, at which values are clipped and below which frames are not speech."""

_ROUNDS = 6
_TRUSTED_FROM, _TRUSTED = 2, 0.8
"""From this round on, only the best share of the transcripts is used, because the others may be wrong."""

_PRIOR = 20.0
"""The weight of the mean of all frames in the mean of a phone, as a number of frames."""

_FLOOR = 1e-3
"""The share of the mean variance that is added to each variance."""

_BATCH = 64

Floats = npt.NDArray[np.float32]


def features(mel: Floats, decibels: float, per_frame: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the features of a mel, and a mask of speech frames.

    The features are cepstral coefficients (Davis and Mermelstein, 1980) and their slopes. The mean over the speech of
    the recording is subtracted, which removes the influence of level, microphone and much of the speaker.

    Args:
        mel: [n_frames, n_mels].
        decibels: decibels per unit of the mel.
        per_frame: the number of mel frames that are averaged.

    Returns:
        [n_frames // per_frame, 2 * min(N_COEFFICIENTS, n_mels)] float32, and booleans.
    """
    n, n_mels = len(mel) // per_frame, mel.shape[1]
    levels = mel[: n * per_frame].astype(np.float32) * np.float32(decibels)
    # Values that are not finite are damage, which others report.
    if not n or not np.isfinite(levels.max()):
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
    """Normal distributions of the classes with a common covariance, so that scores are linear in the features.

    Attributes:
        weights: [n_features, n_classes] float32.
        offsets: [n_classes] float32.
    """

    weights: Floats
    offsets: Floats

    def scores(self, frames: Floats) -> Scores:
        """Return the log-likelihoods of classes relative to that of the best one, [n_frames, n_classes]."""
        scores: Scores = frames @ self.weights + self.offsets
        scores -= scores.max(axis=1, keepdims=True)
        return scores


def fit(
    frames: Sequence[Floats], speech: Sequence[npt.NDArray[np.bool_]], transcripts: Sequence[Transcript], n_classes: int
) -> PhoneModel:
    """Train a model on recordings and their transcripts, some of which may be wrong.

    The initial alignment assigns an equal share of the speech to each phone. Then alignment and estimation alternate
    (Viterbi training).

    Args:
        frames, speech: results of `features`, one per recording, with at least as many frames as phones.
        transcripts: one per recording.
        n_classes: the number of classes, including silence.
    """
    labels = [_equal_shares(*pair) for pair in zip(speech, transcripts, strict=True)]
    model = _estimate(np.concatenate(frames), np.concatenate(labels), n_classes)
    order = np.argsort([len(features_) for features_ in frames], kind="stable")
    for number in range(_ROUNDS):
        means = np.zeros(len(frames))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH].tolist()
            scores = [model.scores(frames[row]) for row in rows]
            aligned = frame_classes(scores, [transcripts[row] for row in rows])
            for row, row_scores, classes in zip(rows, scores, aligned, strict=True):
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
