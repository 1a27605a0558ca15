"""Detection of wrong transcripts: a transcript must fit its recording better than others of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
from tts_prep.acoustics.phones.model import PhoneModel, features, fit
from tts_prep.acoustics.phones.symbols import PAUSE, PHONE, PhoneClasses, symbol_kinds
from tts_prep.acoustics.phones.viterbi import Transcript, align
from tts_prep.acoustics.threads import map_slices
from tts_prep.compiler import Compiled
from tts_prep.errors import broken
from tts_prep.format.layout import ALIGNMENT_SCORE, ALIGNMENT_WITHIN
from tts_prep.loader import UtteranceDataset

SAMPLE = 1000
"""The number of utterances on which the model is trained, and whose transcripts are used in comparisons."""

LEAST_SAMPLE = 30

_LEAST_PHONES = 3

FRAME_SECONDS = 0.023
"""The approximate duration of a frame of the model, to which mel frames are averaged."""

_MAX_SAMPLE_SECONDS, MAX_SECONDS = 20.0, 60.0
"""The maximum durations for training and measuring, because the cost is quadratic in the duration."""

N_OTHERS = 4
"""The number of transcripts of other utterances with which a recording is compared."""

_CANDIDATES = 16
_AT_A_TIME = 32
_SEED = 0

LEAST_SEPARATION = 3.0
"""The minimum median advantage of transcripts in standard deviations; otherwise, nothing is measured."""

_MAX_SPREAD = 0.25
"""The maximum standard deviation of a fit; recordings that are too short for it are not measured."""

_LEAST_SHARE = 0.5
"""The minimum median advantage of a speaker, relative to that of the store."""

_LEAST_ALIGNED = 10
"""The minimum number of utterances whose scores of alignment have a median."""

_OF_NORMAL = 1.4826
"""The standard deviation of a normal distribution, relative to its median absolute deviation."""

_LEAST_SCALE = 0.4
"""The minimum standard deviation of scores of alignment.

Those of synthetic voices vary less, but for single utterances: by 0.13 in the demo, of whose 36 right texts five would
be suspects.
"""

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]


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
    def joined(cls, parts: Sequence[Comparisons]) -> Comparisons:
        """Return the comparisons of several lists of utterances."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


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


def alignment_deviations(dataset: UtteranceDataset) -> Floats:
    """Return how far the scores of the aligner are from the median of the speaker, in standard deviations, [n].

    Speakers with fewer than _LEAST_ALIGNED utterances are compared with the median of the store. Without the column, or
    with fewer utterances in all, the result is NaN.
    """
    if ALIGNMENT_SCORE not in dataset.columns:
        return np.full(len(dataset), np.nan)
    scores = np.array(dataset.columns[ALIGNMENT_SCORE], np.float64)
    found = score_deviations(scores, np.asarray(dataset.speaker.checked_codes(), np.int64))
    # Phones that do not even fit into the recording have no score.
    has_phones = np.asarray(dataset.n_phonemes) > 0
    return np.where(np.isneginf(found) & ~has_phones, np.nan, found)


def alignment_shares(dataset: UtteranceDataset) -> Floats:
    """Return the estimated shares of boundaries within 20 ms of the true ones, [n]; NaN without the column."""
    if ALIGNMENT_WITHIN not in dataset.columns:
        return np.full(len(dataset), np.nan)
    return np.array(dataset.columns[ALIGNMENT_WITHIN], np.float64)


def score_deviations(scores: Floats, speakers: npt.NDArray[np.int64]) -> Floats:
    """Return the deviations of `alignment_deviations`, with −∞ for scores that are NaN.

    Args:
        scores, speakers: [n], the scores of the aligner and numbers of speakers.
    """
    known = np.isfinite(scores)
    if known.sum() < _LEAST_ALIGNED:
        return np.full(len(scores), np.nan)
    medians = np.full(len(scores), np.median(scores[known]))
    for speaker in np.unique(speakers):
        rows = (speakers == speaker) & known
        if rows.sum() >= _LEAST_ALIGNED:
            medians[speakers == speaker] = np.median(scores[rows])
    differences = scores - medians
    scale = max(_OF_NORMAL * float(np.median(np.abs(differences[known]))), _LEAST_SCALE)
    return np.where(known, differences / scale, -np.inf)


class TranscriptChecker:
    """Compares recordings with transcripts, by a model of phones that is trained on the store.

    Args:
        dataset: the store.
        decibels: decibels per unit of the mels; if None (unknown), nothing is compared.
    """

    def __init__(self, dataset: UtteranceDataset, decibels: float | None) -> None:
        self._path, self._decibels = dataset.path, decibels or 1.0
        self._per_frame = max(1, round(FRAME_SECONDS * dataset.sample_rate / dataset.hop_length))
        self._kinds = symbol_kinds(dataset.symbols, dataset.pad_id)
        self._classes = PhoneClasses.of(self._kinds, [])
        self._pool: list[Transcript] = []
        self._counts = np.zeros(0, np.int64)
        self._candidates: dict[int, list[Transcript]] = {}
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
        self.count(phonemes)  # raises where an id is not in the vocabulary
        self._classes = PhoneClasses.of(self._kinds, phonemes)
        parts = map_slices(partial(self._of_sample, sample), [1] * len(sample), _AT_A_TIME)
        usable = [of_row for part in parts for of_row in part]
        if len(usable) >= LEAST_SAMPLE:
            self._pool = sorted((transcript for _, _, transcript in usable), key=lambda item: item.n_phones)
            self._counts = np.array([transcript.n_phones for transcript in self._pool])
            frames, speech, transcripts = zip(*usable, strict=True)
            self._model = fit(frames, speech, transcripts, self._classes.n_classes)

    def _of_sample(
        self, sample: UtteranceDataset, rows: slice
    ) -> list[tuple[Floats32, npt.NDArray[np.bool_], Transcript]]:
        """Return features, whether they are speech, and the transcript of each recording that is long enough."""
        part = sample[rows]
        found = features(Mels.of(part.views("mel"), part.n_mels), self._decibels, self._per_frame)
        usable = []
        for ids, first, stop in zip(part.views("phonemes"), found.starts[:-1], found.starts[1:], strict=True):
            transcript = self._classes.transcript(ids)
            if _LEAST_PHONES <= transcript.n_phones <= stop - first:
                usable.append((found.frames[first:stop], found.speech[first:stop], transcript))
        return usable

    def count(self, phonemes: Sequence[npt.NDArray[np.int32]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the numbers of phones and pauses of each utterance, two arrays [n].

        Args:
            phonemes: one array of ids per utterance.

        Raises:
            CorruptStoreError: an id is not in the vocabulary.
        """
        ids = np.concatenate([*phonemes, np.empty(0, np.int32)])
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(self._kinds):
            raise broken(f"{self._path}: a phoneme id is not in the vocabulary")
        rows = np.repeat(np.arange(len(phonemes)), [*map(len, phonemes)])
        counts = np.bincount(4 * rows + self._kinds[ids], minlength=4 * len(phonemes)).reshape(-1, 4)
        return counts[:, PHONE], counts[:, PAUSE]

    def _others(self, transcript: Transcript) -> list[Transcript]:
        """Return different transcripts of the sample with the most similar numbers of phones."""
        n = transcript.n_phones
        candidates = self._candidates.get(n)
        if candidates is None:
            middle = int(np.searchsorted(self._counts, n))
            first = max(0, middle - _CANDIDATES)
            distances = np.abs(self._counts[first : middle + _CANDIDATES] - n)
            candidates = [self._pool[first + place] for place in np.argsort(distances, kind="stable").tolist()]
            self._candidates[n] = candidates
        return list(islice((other for other in candidates if not _are_equal(other, transcript)), N_OTHERS))

    def compare(self, mels: Mels, phonemes: Sequence[npt.NDArray[np.int32]], seconds: Sequence[float]) -> Comparisons:
        """Compare recordings with their transcripts and those of other utterances.

        Args:
            phonemes: the ids of each transcript, in the vocabulary.
            seconds: the duration of each recording.
        """
        n = len(phonemes)
        totals, unspoken = np.full((n, 1 + N_OTHERS), np.nan), np.full(n, np.nan)
        deviations, n_speech = np.ones(n), np.ones(n)
        if self._model is not None:
            found = features(mels, self._decibels, self._per_frame)
            scores, deviations_of_frames = self._model.scores(found.frames)
            _average_speech(deviations_of_frames, found.speech, found.starts, deviations, n_speech)
            measured = np.flatnonzero((np.diff(found.starts) > 0) & (np.asarray(seconds) <= MAX_SECONDS))
            to_compare = {row: of_row for row in measured.tolist() if (of_row := self._to_compare(phonemes[row]))}
            if to_compare:
                rows = np.array([*to_compare])
                spans = np.stack([found.starts[rows], found.starts[rows + 1]], axis=1)
                aligned = align(scores, spans, [*to_compare.values()])
                totals[rows], unspoken[rows] = aligned.totals, aligned.unspoken[:, 0]
        # Noise brings the classes closer together, and all advantages with them.
        totals /= np.maximum(deviations, 1e-3)[:, None]
        own, others = totals[:, 0], totals[:, 1:]
        advantages, variances = np.where(np.isneginf(own), -np.inf, np.nan), np.full(n, np.nan)
        # A recording can be too short for another transcript.
        usable = np.isfinite(others).all(axis=1)
        advantages[usable] = (own[usable] - others[usable].mean(axis=1)) / n_speech[usable]
        variances[usable] = others[usable].var(axis=1, ddof=1) / n_speech[usable]
        return Comparisons(advantages, variances, np.where(usable, n_speech, np.nan), unspoken)

    def _to_compare(self, ids: npt.NDArray[np.int32]) -> list[Transcript]:
        """Return a transcript and N_OTHERS others, or nothing if it is too short or there are too few others."""
        transcript = self._classes.transcript(ids)
        others = self._others(transcript) if transcript.n_phones >= _LEAST_PHONES else []
        return [transcript, *others] if len(others) == N_OTHERS else []


@Compiled
def _average_speech(values: Any, speech: Any, starts: Any, means: Any, n_speech: Any) -> None:
    """Fill in the means of the values of the frames of speech of each recording, and their numbers, [n] each."""
    for recording in range(len(means)):
        total, n = 0.0, 0
        for number in range(starts[recording], starts[recording + 1]):
            if speech[number]:
                total += values[number]
                n += 1
        means[recording], n_speech[recording] = total / max(n, 1), n


def _are_equal(one: Transcript, other: Transcript) -> bool:
    return one.classes.tobytes() == other.classes.tobytes()
