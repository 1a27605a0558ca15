"""Whether a recording says its text: how much better its own transcript fits than others of about its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.alignment import SILENCE, Scores, Transcript, align
from tts_prep.checks.phone_model import FRAME_SECONDS, MAX_CLASSES, PhoneModel, features, fit
from tts_prep.checks.phones import PHONE, count_phones, phone_classes
from tts_prep.loader import UtteranceDataset

SAMPLE = 1000
"""Utterances that the model is learned from; their transcripts are also those that others are compared with."""

LEAST_SAMPLE = 30

_LEAST_PHONES = 3
_MAX_SAMPLE_SECONDS, MAX_SECONDS = 20.0, 60.0
"""Longer utterances are not learned from, and not measured: the work grows with the square of their length."""

N_OTHERS = 4
"""Transcripts of other utterances that a recording is compared with."""

_CANDIDATES = 16
_BATCH = 32
_SEED = 0

LEAST_SEPARATION = 3.0
"""Standard deviations by which half of the transcripts have to fit better than others; else nothing can be said."""

_MAX_SPREAD = 0.25
"""Of a fit: shorter recordings, where chance makes more, are not measured."""

_LEAST_SHARE = 0.5
"""Of the store's median: a speaker whose transcripts fit worse is not compared with themselves."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """How well the transcripts of some utterances fit their recordings, beside others.

    Attributes:
        advantages: [n] log-likelihood for each frame of speech, own transcript less the mean of others; −∞ where the
            transcript has more phones than the recording has frames, NaN where it was not compared.
        variances: [n] of the log-likelihoods of the others, for each frame of speech.
        n_frames: [n] frames of speech.
        unspoken: [n] phones at the end of the transcript that are not to be heard.
    """

    advantages: Floats
    variances: Floats
    n_frames: Floats
    unspoken: Floats

    @classmethod
    def empty(cls, n: int) -> Comparisons:
        """Return n utterances that were not compared."""
        return cls(*(np.full(n, np.nan) for _ in range(4)))

    def put(self, rows: slice, part: Comparisons) -> None:
        """Take over the values of some utterances."""
        for name, values in vars(self).items():
            values[rows] = getattr(part, name)


def text_fits(compared: Comparisons, speakers: npt.NDArray[np.int64]) -> tuple[Floats, float]:
    """Return how well each transcript fits, and how far right and wrong transcripts lie apart in the store.

    A fit is the advantage divided by the median one, of the speaker where there are LEAST_SAMPLE utterances of theirs:
    about 1 for the transcript of the recording, about 0 for that of another.

    Args:
        speakers: [n], codes.

    Returns:
        [n] from −1 to 2, NaN where nothing can be said; and the median advantage in standard deviations of the
        advantages of wrong transcripts, NaN where nothing was compared.
    """
    advantages = compared.advantages
    fits = np.full(len(advantages), np.nan)
    known = np.isfinite(advantages)
    if known.sum() < LEAST_SAMPLE:
        return fits, np.nan
    # Four others of one utterance say little about how much they vary; those of all utterances do.
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
    """Compares recordings with transcripts, by a model of the phones that it learns from the store.

    Args:
        dataset: the store.
        decibels: in one unit of its mels; None where that is not known, and nothing is compared.
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
        # Phones that the sample does not have are the class of the rare ones too.
        n_classes = len(frequent) + 2
        self._classes[self._kinds == PHONE] = n_classes - 1
        self._classes[frequent] = np.arange(1, n_classes - 1)
        found = []
        for mel, ids in zip(sample.views("mel"), phonemes, strict=True):
            transcript = self._transcript(ids)
            frames, speech = features(mel, self._decibels, self._per_frame)
            if _LEAST_PHONES <= transcript.n_phones <= len(frames) and np.isfinite(frames).all():
                found.append((frames, speech, transcript))
        if len(found) >= LEAST_SAMPLE:
            self._pool = sorted((transcript for _, _, transcript in found), key=lambda item: item.n_phones)
            self._counts = np.array([transcript.n_phones for transcript in self._pool])
            transcripts = [transcript for _, _, transcript in found]
            self._model = fit(
                [frames for frames, _, _ in found], [speech for _, speech, _ in found], transcripts, n_classes
            )

    def _transcript(self, ids: npt.NDArray[np.int32]) -> Transcript:
        """Return phones, and between words, at marks and at both ends an optional silence."""
        kinds = self._kinds[ids]
        ids, kinds = ids[kinds > 0], kinds[kinds > 0]
        classes = np.concatenate(([SILENCE], np.where(kinds == PHONE, self._classes[ids], SILENCE), [SILENCE]))
        optional = np.concatenate(([True], kinds != PHONE, [True]))
        kept = ~(optional & np.concatenate(([False], optional[:-1])))
        return Transcript(classes[kept], optional[kept])

    def _others(self, transcript: Transcript) -> list[Transcript]:
        """Return transcripts of the sample with the nearest numbers of phones, none the same as this one."""
        n = transcript.n_phones
        middle = int(np.searchsorted(self._counts, n))
        near = range(max(0, middle - _CANDIDATES), min(len(self._pool), middle + _CANDIDATES))
        ordered = sorted(near, key=lambda place: abs(int(self._counts[place]) - n))
        others = (self._pool[place] for place in ordered)
        return [other for other in others if not np.array_equal(other.classes, transcript.classes)][:N_OTHERS]

    def compare(
        self, mels: Sequence[npt.NDArray[np.float32]], phonemes: Sequence[npt.NDArray[np.int32]], seconds: Floats
    ) -> Comparisons:
        """Compare utterances with their transcripts, and with those of others.

        Args:
            mels, phonemes: one array each an utterance; ids that are in the vocabulary.
            seconds: [n].
        """
        found = Comparisons.empty(len(mels))
        if self._model is None:
            return found
        # Recordings of about one length together, for little padding.
        order = np.argsort(seconds, kind="stable")
        order = order[seconds[order] <= MAX_SECONDS]
        for start in range(0, len(order), _BATCH):
            self._compare(mels, phonemes, order[start : start + _BATCH], found)
        return found

    def _compare(
        self,
        mels: Sequence[npt.NDArray[np.float32]],
        phonemes: Sequence[npt.NDArray[np.int32]],
        positions: npt.NDArray[np.int64],
        found: Comparisons,
    ) -> None:
        assert self._model is not None
        rows: list[int] = []
        n_speech: list[int] = []
        scores: list[Scores] = []
        transcripts: list[Transcript] = []
        for row in positions.tolist():
            transcript = self._transcript(phonemes[row])
            others = self._others(transcript)
            frames, speech = features(mels[row], self._decibels, self._per_frame)
            if transcript.n_phones >= _LEAST_PHONES and len(others) == N_OTHERS and len(frames):
                rows.append(row)
                n_speech.append(int(speech.sum()))
                scores += [self._model.scores(frames)] * (1 + N_OTHERS)
                transcripts += [transcript, *others]
        if not rows:
            return
        aligned = align(scores, transcripts)
        totals = aligned.totals.reshape(len(rows), 1 + N_OTHERS)
        own, others_totals = totals[:, 0], totals[:, 1:]
        # Others that have too many phones for a recording say nothing about it.
        usable = np.isfinite(others_totals).all(axis=1)
        at, n_frames = np.array(rows)[usable], np.array(n_speech, np.float64)[usable]
        found.advantages[at] = (own[usable] - others_totals[usable].mean(axis=1)) / n_frames
        found.variances[at] = others_totals[usable].var(axis=1, ddof=1) / n_frames
        found.n_frames[at] = n_frames
        found.advantages[np.array(rows)[np.isneginf(own)]] = -np.inf
        found.unspoken[rows] = aligned.left_out[:: 1 + N_OTHERS]
