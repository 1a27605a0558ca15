"""Detection of wrong transcripts: a transcript must fit its recording better than others of similar length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tts_prep.checks.alignment import SILENCE, Transcript, align
from tts_prep.checks.phone_model import FRAME_SECONDS, MAX_CLASSES, PhoneModel, features, fit
from tts_prep.checks.phones import PHONE, count_phones, phone_classes
from tts_prep.loader import UtteranceDataset

SAMPLE = 1000
"""The number of utterances on which the model is trained, and whose transcripts are used in comparisons."""

LEAST_SAMPLE = 30

_LEAST_PHONES = 3
_MAX_SAMPLE_SECONDS, MAX_SECONDS = 20.0, 60.0
"""The maximum durations for training and measuring, because the cost is quadratic in the duration."""

N_OTHERS = 4
"""The number of transcripts of other utterances with which a recording is compared."""

_CANDIDATES = 16
_AT_A_TIME = 128
_SEED = 0

LEAST_SEPARATION = 3.0
"""The minimum median advantage of transcripts in standard deviations; otherwise, nothing is measured."""

_MAX_SPREAD = 0.25
"""The maximum standard deviation of a fit; recordings that are too short for it are not measured."""

_LEAST_SHARE = 0.5
"""The minimum median advantage of a speaker, relative to that of the store."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of the transcripts of utterances with those of others.

    Attributes:
        advantages: [n] log-likelihoods per frame of speech, relative to the mean of other transcripts, divided by
            the standard deviation over the classes; −∞ if the transcript has more phones than the recording has frames,
            NaN if it was not compared.
        variances: [n] variances of the others, per frame of speech, in the same unit squared.
        n_frames: [n] numbers of frames of speech.
        unspoken: [n] numbers of phones at the end of the transcript that are not spoken.
    """

    advantages: Floats
    variances: Floats
    n_frames: Floats
    unspoken: Floats

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Comparisons:
        """Return the comparisons of utterances as arrays."""
        return cls(*np.array(comparisons, np.float64).reshape(-1, len(Comparison._fields)).T)

    @classmethod
    def joined(cls, parts: Sequence[Comparisons]) -> Comparisons:
        """Return the comparisons of several lists of utterances."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


class Comparison(NamedTuple):
    """The comparison of one transcript, see `Comparisons`."""

    advantage: float
    variance: float
    n_frames: float
    unspoken: float


_NOT_COMPARED = Comparison(math.nan, math.nan, math.nan, math.nan)


def text_fits(compared: Comparisons, speakers: npt.NDArray[np.int64]) -> tuple[Floats, float]:
    """Return the fit of each transcript, and the separation of correct and wrong transcripts in the store.

    A fit is the advantage divided by the median advantage of the speaker, or of the store if the speaker has fewer than
    LEAST_SAMPLE utterances. It is about 1 for a correct transcript, and about 0 for that of another utterance.

    Args:
        speakers: [n], codes.

    Returns:
        [n] from −1 to 2, NaN if it cannot be determined; and the median advantage in standard deviations of the
        advantages of wrong transcripts, NaN if nothing was compared.
    """
    advantages = compared.advantages
    fits = np.full(len(advantages), np.nan)
    known = np.isfinite(advantages)
    if known.sum() < LEAST_SAMPLE:
        return fits, np.nan
    # Four transcripts are too few to estimate the variance of an utterance, so the mean over all utterances is used.
    variance = float(np.mean(compared.variances[known]))
    deviations = np.sqrt(max(variance, 1e-9) * (1 + 1 / N_OTHERS) / compared.n_frames)
    separation = float(np.median(advantages[known] / deviations[known]))
    if separation < LEAST_SEPARATION:
        return fits, separation
    usual = float(np.median(advantages[known]))
    scales = np.full(len(advantages), usual)
    for speaker in np.unique(speakers):
        rows = (speakers == speaker) & known
        if rows.sum() >= LEAST_SAMPLE:
            scales[rows] = max(float(np.median(advantages[rows])), _LEAST_SHARE * usual)
    certain = deviations <= _MAX_SPREAD * scales
    fits[certain] = np.clip(advantages[certain] / scales[certain], -1, 2)
    fits[np.isneginf(advantages)] = -1
    return fits, separation


class TranscriptChecker:
    """Compares recordings with transcripts, by a model of phones that is trained on the store.

    Args:
        dataset: the store.
        decibels: decibels per unit of the mels; if None (unknown), nothing is compared.
    """

    def __init__(self, dataset: UtteranceDataset, decibels: float | None) -> None:
        self._decibels = decibels or 1.0
        self._per_frame = max(1, round(FRAME_SECONDS * dataset.sample_rate / dataset.hop_length))
        self._kinds = phone_classes(dataset)
        self._classes = np.full(len(self._kinds), SILENCE, np.int64)
        self._pool: list[Transcript] = []
        self._counts = np.zeros(0, np.int64)
        self._model: PhoneModel | None = None
        if decibels is not None:
            self._learn(dataset)

    def _learn(self, dataset: UtteranceDataset) -> None:
        seconds = np.asarray(dataset.seconds)
        rows = np.flatnonzero(seconds <= _MAX_SAMPLE_SECONDS)
        if len(rows) > SAMPLE:
            rows = np.sort(np.random.default_rng(_SEED).choice(rows, SAMPLE, replace=False))
        sample = dataset[rows]
        phonemes = sample.views("phonemes")
        count_phones(phonemes, dataset)  # raises where an id is not in the vocabulary
        counts = np.bincount(np.concatenate([*phonemes, [0]]), minlength=len(self._kinds)) * (self._kinds == PHONE)
        frequent = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 2]
        frequent = frequent[counts[frequent] > 0]
        # Phones that are not in the sample belong to the class of rare phones.
        n_classes = len(frequent) + 2
        self._classes[self._kinds == PHONE] = n_classes - 1
        self._classes[frequent] = np.arange(1, n_classes - 1)
        usable = []
        for start in range(0, len(sample), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            for mel, ids in zip(sample[part].views("mel"), phonemes[part], strict=True):
                transcript = self._transcript(ids)
                frames, speech = features(mel, self._decibels, self._per_frame)
                if _LEAST_PHONES <= transcript.n_phones <= len(frames):
                    usable.append((frames, speech, transcript))
        if len(usable) >= LEAST_SAMPLE:
            self._pool = sorted((transcript for _, _, transcript in usable), key=lambda item: item.n_phones)
            self._counts = np.array([transcript.n_phones for transcript in self._pool])
            transcripts = [transcript for _, _, transcript in usable]
            self._model = fit(
                [frames for frames, _, _ in usable], [speech for _, speech, _ in usable], transcripts, n_classes
            )

    def _transcript(self, ids: npt.NDArray[np.int32]) -> Transcript:
        """Return the phones with optional silences between words, at punctuation and at both ends."""
        kinds = self._kinds[ids]
        ids, kinds = ids[kinds > 0], kinds[kinds > 0]
        classes = np.concatenate(([SILENCE], np.where(kinds == PHONE, self._classes[ids], SILENCE), [SILENCE]))
        optional = np.concatenate(([True], kinds != PHONE, [True]))
        kept = ~(optional & np.concatenate(([False], optional[:-1])))
        return Transcript(classes[kept], optional[kept])

    def _others(self, transcript: Transcript) -> list[Transcript]:
        """Return different transcripts of the sample with the most similar numbers of phones."""
        n = transcript.n_phones
        middle = int(np.searchsorted(self._counts, n))
        first = max(0, middle - _CANDIDATES)
        distances = np.abs(self._counts[first : middle + _CANDIDATES] - n)
        others = (self._pool[first + place] for place in np.argsort(distances, kind="stable").tolist())
        return list(islice((other for other in others if not _are_equal(other, transcript)), N_OTHERS))

    def compare(self, mel: npt.NDArray[np.float32], ids: npt.NDArray[np.int32], seconds: float) -> Comparison:
        """Compare a recording with its transcript and those of other utterances.

        Args:
            mel: [n_frames, n_mels].
            ids: [n_phonemes], in the vocabulary.
            seconds: the duration.
        """
        if self._model is None or seconds > MAX_SECONDS:
            return _NOT_COMPARED
        transcript = self._transcript(ids)
        if transcript.n_phones < _LEAST_PHONES:
            return _NOT_COMPARED
        others = self._others(transcript)
        frames, speech = features(mel, self._decibels, self._per_frame)
        if len(others) < N_OTHERS or not len(frames):
            return _NOT_COMPARED
        scores, deviations = self._model.scores(frames)
        aligned = align(scores, [transcript, *others])
        # Noise brings the classes closer together, and all advantages with them.
        totals = aligned.totals / max(float(deviations[speech].mean()), 1e-3)
        own, of_others, unspoken = float(totals[0]), totals[1:], float(aligned.unspoken[0])
        n_frames = float(speech.sum())
        # A recording can be too short for another transcript.
        usable = bool(np.isfinite(of_others).all())
        if not usable:
            return _NOT_COMPARED._replace(advantage=-math.inf if math.isinf(own) else math.nan, unspoken=unspoken)
        advantage = (own - float(of_others.mean())) / n_frames
        return Comparison(advantage, float(of_others.var(ddof=1)) / n_frames, n_frames, unspoken)


def _are_equal(one: Transcript, other: Transcript) -> bool:
    return one.classes.tobytes() == other.classes.tobytes()
