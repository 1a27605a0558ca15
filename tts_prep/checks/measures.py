"""Measures of the utterances of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.levels import edge_levels, silences
from tts_prep.checks.duplicates import (
    array_digest,
    fingerprints,
    first_equal,
    most_similar_before,
    text_digest,
)
from tts_prep.checks.mels import Mels, decibels_of_unit, mel_levels
from tts_prep.checks.mismatch import mismatch_scores, rank_correlations
from tts_prep.checks.phones import count_phones
from tts_prep.checks.stored import ARRAY, COLUMNS, PARTNERS, SEPARATION, holds_measures
from tts_prep.checks.threads import map_slices
from tts_prep.checks.transcripts import Comparisons, TranscriptChecker, text_fits
from tts_prep.checks.waveforms import measure_waveform
from tts_prep.errors import CorruptStoreError
from tts_prep.loader import UtteranceDataset

UNITS = {
    "seconds": "s",
    "phones": "phones",
    "phone_rate": "phones/s",
    "loudness": "LUFS",
    "snr": "dB",
    "pitch": "Hz",
    "peak": "dBFS",
    "clipped_samples": "samples",
    "silence_start": "s",
    "silence_end": "s",
    "silence_inside": "s",
    "digital_silence": "s",
    "level_start": "dB",
    "level_end": "dB",
    "bandwidth": "Hz",
    "bandwidth_share": "of the store's",
    "audio_copies": "earlier copies",
    "similarity": "correlation",
    "text_copies": "earlier copies",
    "mismatch": "standard deviations",
    "text_fit": "of the store's",
    "unspoken": "phones",
}
"""All measures and their units, in the order of columns."""

_PLACES = {name: place for place, name in enumerate(UNITS)}

_AT_A_TIME = 20_000
"""The number of frames that a thread measures at a time, except of longer utterances; it limits the memory."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measures:
    """The measures of a store.

    Attributes:
        dataset: the store.
        columns: name → [n] float64, in the order of `UNITS`; NaN is a missing value.
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


def measure(dataset: UtteranceDataset, *, use_stored: bool = True) -> Measures:
    """Measure all utterances of a dataset, reading each array once.

    Args:
        dataset: the dataset.
        use_stored: whether to use measures that ``tts-prep add --measures`` has added to the index.

    Raises:
        CorruptStoreError: a shard does not match the manifest or the index.
    """
    if use_stored and _are_stored(dataset):
        return _stored(dataset)
    n = len(dataset)
    measuring = _Measuring(dataset)
    rows = _Rows.joined(
        map_slices(measuring.measure, dataset.n_frames.tolist(), _AT_A_TIME) or [measuring.measure(slice(0, 0))]
    )
    columns = {name: np.ascontiguousarray(values) for name, values in zip(UNITS, rows.numbers.T, strict=True)}
    columns["seconds"][:] = dataset.seconds
    phones, pauses = rows.phones.astype(np.float64), rows.pauses.astype(np.float64)
    seconds: Any = columns["seconds"]
    columns["phones"] = phones
    columns["phone_rate"] = np.divide(phones, seconds, out=np.full(n, np.nan), where=seconds > 0)
    columns["bandwidth_share"] = _share(columns["bandwidth"])
    codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
    speech = _speech_seconds(columns)
    correlations: Mapping[str, float] = {}
    if dataset.n_phonemes.any():
        columns["mismatch"] = mismatch_scores(speech, phones, pauses, codes)
        correlations = rank_correlations(speech, phones, codes, tuple(dataset.speaker.table))
    else:
        columns["phones"][:] = columns["phone_rate"][:] = np.nan
    columns["text_fit"], separation = text_fits(rows.compared, codes)
    columns["unspoken"] = rows.compared.unspoken
    audio = _first_copies(dataset, rows)
    columns["similarity"], similar = most_similar_before(rows.fingerprints, seconds)
    texts = first_equal(text_digest(text, speaker) for text, speaker in zip(dataset.text, dataset.speaker, strict=True))
    texts[[row for row, text in enumerate(dataset.text) if not text]] = -1
    columns["audio_copies"], columns["text_copies"] = (audio >= 0).astype(float), (texts >= 0).astype(float)
    return Measures(
        dataset=dataset,
        columns=columns,
        partners={"audio_copies": audio, "similarity": similar, "text_copies": texts},
        correlations=correlations,
        separation=separation,
    )


def measures_table(measures: Measures) -> Floats:
    """Return the measures as an array for ``tts-prep add --measures``, [n, n_columns]."""
    values = [measures.columns[name] for name in COLUMNS]
    values += [measures.partners[name].astype(np.float64) for name in PARTNERS]
    return np.stack([*values, np.full(len(measures.dataset), measures.separation)], axis=1)


def _are_stored(dataset: UtteranceDataset) -> bool:
    spec, pitch = dataset.arrays.get(ARRAY), dataset.arrays.get("pitch")
    if spec is None or not holds_measures(spec, pitch):
        return False
    # Measures of duplicates contain rows of the store, so the dataset must be the complete store.
    return np.array_equal(dataset.indices, np.arange(len(dataset)))


def _stored(dataset: UtteranceDataset) -> Measures:
    numbers = {name: np.array(dataset.columns[column], np.float64) for name, column in COLUMNS.items()}
    numbers["seconds"] = np.array(dataset.seconds, np.float64)
    codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
    partners = {name: np.array(dataset.columns[column]) for name, column in PARTNERS.items()}
    for name, rows in partners.items():
        if not ((rows >= -1) & (rows < len(dataset))).all():
            raise CorruptStoreError(
                f"{dataset.path}: the column '{PARTNERS[name]}' has invalid rows; run 'tts-prep verify'"
            )
    separation = np.array(dataset.columns[SEPARATION], np.float64)
    correlations: Mapping[str, float] = {}
    if not np.isnan(numbers["phones"]).any():
        names = tuple(dataset.speaker.table)
        correlations = rank_correlations(_speech_seconds(numbers), numbers["phones"], codes, names)
    return Measures(
        dataset=dataset,
        columns={name: numbers[name] for name in UNITS},
        partners={name: rows.astype(np.int64) for name, rows in partners.items()},
        correlations=correlations,
        separation=float(separation[0]) if len(separation) else np.nan,
    )


def _speech_seconds(columns: Mapping[str, Floats]) -> Floats:
    """Return the durations of recordings without the silence at both ends."""
    ends = np.nan_to_num(columns["silence_start"] + columns["silence_end"])
    return np.maximum(columns["seconds"] - ends, 0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is measured of each utterance on its own.

    Attributes:
        numbers: [n, len(UNITS)] float64, the measures of waveforms or mels, and mean pitches; others are NaN.
        fingerprints: [n, N_BANDS * N_CELLS] float32, of the mels.
        phones, pauses: [n] int64, their numbers.
        compared: the comparisons of transcripts with others.
    """

    numbers: Floats
    fingerprints: npt.NDArray[np.float32]
    phones: npt.NDArray[np.int64]
    pauses: npt.NDArray[np.int64]
    compared: Comparisons

    @classmethod
    def joined(cls, parts: Sequence[_Rows]) -> _Rows:
        """Return the rows of several slices."""
        return cls(
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.fingerprints for part in parts]),
            np.concatenate([part.phones for part in parts]),
            np.concatenate([part.pauses for part in parts]),
            Comparisons.joined([part.compared for part in parts]),
        )


class _Measuring:
    """Measures utterances, reading each array once."""

    def __init__(self, dataset: UtteranceDataset) -> None:
        self._dataset = dataset
        self._unit = decibels_of_unit(dataset.metadata.audio_settings)
        self._checker = TranscriptChecker(dataset, self._unit)

    def measure(self, positions: slice) -> _Rows:
        """Measure some utterances; called from several threads."""
        part = self._dataset[positions]
        phonemes, mels = part.views("phonemes"), Mels.of(part.views("mel"), part.n_mels)
        numbers = np.full((len(part), len(UNITS)), np.nan)
        numbers[:, _PLACES["pitch"]] = mean_pitches(part)
        phones, pauses = count_phones(phonemes, self._dataset)  # raises where an id is not in the vocabulary
        for row, measures in enumerate(self._measure_audio(part, mels)):
            for name, value in measures.items():
                numbers[row, _PLACES[name]] = value
        compared = self._checker.compare(mels, phonemes, part.seconds.tolist())
        return _Rows(numbers, fingerprints(mels), phones, pauses, compared)

    def _measure_audio(self, part: UtteranceDataset, mels: Mels) -> Iterable[Mapping[str, float]]:
        """Return the measures of waveforms, or of mels if there are none, by name."""
        waveforms = part.views("waveform") if part.has_waveform else []
        # Only a damaged store has these; all measures would be silently wrong.
        if np.isnan(mels.loudest).any() or not all(
            waveform.dtype == np.int16 or np.isfinite(waveform).all() for waveform in waveforms
        ):
            raise CorruptStoreError(f"{part.path}: an array has values that are not finite; run 'tts-prep verify'")
        if part.has_waveform:
            return (measure_waveform(waveform, part.sample_rate) for waveform in waveforms)
        return _measure_mels(mels, part, self._unit) if self._unit else ()


def _first_copies(dataset: UtteranceDataset, rows: _Rows) -> npt.NDArray[np.int64]:
    """Return the position of the first earlier utterance with the same samples, or the same mel, or -1; [n]."""
    name, length = ("waveform", "n_samples") if dataset.has_waveform else ("mel", "n_frames")
    # Equal arrays have equal measures, so checksums are needed only of arrays whose measures are equal.
    lengths: Any = dataset.columns[length]
    values = rows.numbers if dataset.has_waveform else rows.fingerprints
    keys = [(n, of_row.tobytes()) for n, of_row in zip(lengths.tolist(), values, strict=True)]
    counts = Counter(keys)
    positions = [position for position, key in enumerate(keys) if counts[key] > 1]
    copies = np.full(len(keys), -1, np.int64)
    first = first_equal(map(array_digest, dataset[positions].views(name)))
    copies[positions] = np.where(first >= 0, np.array(positions, np.int64)[first], -1)
    return copies


def _measure_mels(mels: Mels, dataset: UtteranceDataset, unit: float) -> Iterator[dict[str, float]]:
    every_level = mel_levels(mels, unit, dataset.silence)
    hop = dataset.hop_length / dataset.sample_rate
    for start, stop in zip(mels.starts[:-1], mels.starts[1:], strict=True):
        levels = every_level[start:stop]
        silence = silences(levels, hop, len(levels) * hop)
        ends = edge_levels((levels[0], levels[-1]), levels) if len(levels) else []
        yield {
            "silence_start": silence.start,
            "silence_end": silence.end,
            "silence_inside": silence.inside,
            **dict(zip(("level_start", "level_end"), ends, strict=False)),
        }


def mean_pitches(part: UtteranceDataset) -> Floats:
    """Return the mean pitch of the voiced frames of each utterance in Hz, [n]; NaN if there are none."""
    means = np.full(len(part), np.nan)
    spec = part.arrays.get("pitch")
    if spec is None or "voiced" not in part.arrays:
        return means
    logarithmic = spec.settings.get("unit") == "ln_hz"
    for row, (pitch, voiced) in enumerate(zip(part.views("pitch"), part.views("voiced"), strict=True)):
        values = pitch[voiced != 0].astype(np.float64)
        if len(values):
            means[row] = float((np.exp(values) if logarithmic else values).mean())
    return means


def _share(values: Floats) -> Floats:
    """Divide bandwidths by their 90th percentile."""
    known = values[np.isfinite(values)]
    usual = float(np.percentile(known, 90)) if len(known) else 0.0
    return values / usual if usual > 0 else np.full(len(values), np.nan)
