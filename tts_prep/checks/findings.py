"""The measures of a store, and what they are computed from: what is found in each utterance, and what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.checks.duplicates import array_digest, first_equal, most_similar_before, text_digest
from tts_prep.checks.mismatch import mismatch_scores, rank_correlations
from tts_prep.checks.transcripts import Comparisons, text_fits
from tts_prep.checks.voices import voice_distances
from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measures:
    """The measures of a store.

    Attributes:
        dataset: the store.
        columns: name → [n] float64, in the order of `MEASURES`; NaN is a missing value.
        partners: measure of duplicates → [n] int64, the position of the earlier utterance, or -1.
        correlations: speaker → rank correlation of phones and durations.
        separation: the difference of the fits of correct and wrong transcripts in standard deviations, or NaN if they
            were not compared.
    """

    dataset: UtteranceDataset
    columns: Mapping[str, Floats]
    partners: Mapping[str, npt.NDArray[np.int64]]
    correlations: Mapping[str, float]
    separation: float

    def __repr__(self) -> str:
        return f"<Measures: {len(self.dataset):,} utterances of {self.dataset.path.name!r}>"

    def values(self, name: str) -> Floats:
        """Return a measure, or another column of numbers of the store, [n].

        Raises:
            ConfigurationError: there is no such column, or it has no numbers.
        """
        if name in self.columns:
            return self.columns[name]
        found: Any = self.dataset.column(name)
        if not isinstance(found, np.ndarray):
            raise ConfigurationError(f"{self.dataset.path}: column '{name}': expected numbers, found texts")
        return found.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """What is found in each utterance on its own.

    Attributes:
        sounds: [n, n_names] float64, the measures of waveforms or mels.
        pitches: [n] mean pitches in Hz.
        decays: [n] seconds in which the sound decays by 60 dB.
        voices: [n, SIZE] descriptions of voices.
        fingerprints: [n, N_BANDS * N_CELLS] float32, of the mels.
        phones, pauses: [n] int64, their numbers.
        compared: the comparisons of transcripts with others.
    """

    sounds: Floats
    pitches: Floats
    decays: Floats
    voices: Floats
    fingerprints: npt.NDArray[np.float32]
    phones: npt.NDArray[np.int64]
    pauses: npt.NDArray[np.int64]
    compared: Comparisons

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several slices."""
        return cls(
            np.concatenate([part.sounds for part in parts]),
            np.concatenate([part.pitches for part in parts]),
            np.concatenate([part.decays for part in parts]),
            np.concatenate([part.voices for part in parts]),
            np.concatenate([part.fingerprints for part in parts]),
            np.concatenate([part.phones for part in parts]),
            np.concatenate([part.pauses for part in parts]),
            Comparisons.joined([part.compared for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Findings:
    """What is found in all utterances of a store. Expensive attributes are computed on first access.

    Attributes:
        dataset: the store.
        rows: what is found in each utterance.
        names: the names of the columns of ``rows.sounds``.
    """

    dataset: UtteranceDataset
    rows: Rows
    names: tuple[str, ...]

    def of_sounds(self, name: str) -> Floats:
        """Return a measure of waveforms or mels, [n]."""
        return np.ascontiguousarray(self.rows.sounds[:, self.names.index(name)])

    @cached_property
    def seconds(self) -> Floats:
        """The durations, [n]."""
        return np.array(self.dataset.seconds, np.float64)

    @cached_property
    def phones(self) -> Floats:
        """The numbers of phones, [n]."""
        return self.rows.phones.astype(np.float64)

    @cached_property
    def has_phonemes(self) -> bool:
        """Whether an utterance has phonemes."""
        return bool(self.dataset.n_phonemes.any())

    @cached_property
    def _speakers(self) -> npt.NDArray[np.int64]:
        return np.asarray(self.dataset.speaker.checked_codes(), np.int64)

    @cached_property
    def _speech(self) -> Floats:
        return speech_seconds(self.seconds, self.of_sounds("silence_start"), self.of_sounds("silence_end"))

    @cached_property
    def mismatches(self) -> Floats:
        """The residuals of durations, [n]."""
        if not self.has_phonemes:
            return np.full(len(self.seconds), np.nan)
        return mismatch_scores(self._speech, self.phones, self.rows.pauses.astype(np.float64), self._speakers)

    @cached_property
    def correlations(self) -> Mapping[str, float]:
        """Speaker → rank correlation of phones and durations."""
        if not self.has_phonemes:
            return {}
        return rank_correlations(self._speech, self.phones, self._speakers, tuple(self.dataset.speaker.table))

    @cached_property
    def text_fits(self) -> tuple[Floats, float]:
        """The fits of transcripts, [n], and the separation of correct and wrong ones."""
        return text_fits(self.rows.compared, self._speakers)

    @cached_property
    def voice_distances(self) -> tuple[Floats, Floats]:
        """The distances from the voice of the speaker, [n], and these relative to the nearest other speaker, [n]."""
        return voice_distances(self.rows.voices, self.rows.pitches, self._speakers)

    @cached_property
    def similar(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """The correlation with the most similar earlier mel, [n], and the position of its utterance, [n], or -1."""
        return most_similar_before(self.rows.fingerprints, self.seconds)

    @cached_property
    def copies(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """Measure of duplicates → position of the earlier utterance, [n], or -1."""
        texts = self.dataset.text
        same = first_equal(text_digest(text, who) for text, who in zip(texts, self.dataset.speaker, strict=True))
        same[[row for row, text in enumerate(texts) if not text]] = -1
        return {"audio_copies": self._first_copies(), "similarity": self.similar[1], "text_copies": same}

    def _first_copies(self) -> npt.NDArray[np.int64]:
        """Return the position of the first earlier utterance with the same samples, or the same mel, or -1; [n]."""
        dataset, rows = self.dataset, self.rows
        name, length = ("waveform", "n_samples") if dataset.has_waveform else ("mel", "n_frames")
        # Equal arrays have equal measures, so checksums are needed only of arrays whose measures are equal.
        lengths: Any = dataset.columns[length]
        values = rows.sounds if dataset.has_waveform else rows.fingerprints
        keys = [(n, of_row.tobytes()) for n, of_row in zip(lengths.tolist(), values, strict=True)]
        counts = Counter(keys)
        positions = [position for position, key in enumerate(keys) if counts[key] > 1]
        copies = np.full(len(keys), -1, np.int64)
        first = first_equal(map(array_digest, dataset[positions].views(name)))
        copies[positions] = np.where(first >= 0, np.array(positions, np.int64)[first], -1)
        return copies


def speech_seconds(seconds: Floats, silence_start: Floats, silence_end: Floats) -> Floats:
    """Return the durations of recordings without the silence at both ends, [n]."""
    return np.maximum(seconds - np.nan_to_num(silence_start + silence_end), 0)
