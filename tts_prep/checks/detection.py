"""Detection of the utterances that exceed a threshold, and the result as CSV, as JSON and as a list of ids."""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.checks.catalogue import MEASURE, MEASURES, THRESHOLDS, Threshold
from tts_prep.checks.findings import Measures
from tts_prep.checks.transcripts import LEAST_SEPARATION
from tts_prep.format.files.atomic import replacing

_DROWNED = ("wrong-text", "misaligned", "unsure-durations", "unspoken-end", "other-voice")
"""Reasons that loud noise causes, too."""

_OTHER_VOICE, _ALONE = 1.1, 2.0
"""The least distance of a voice relative to the nearest other speaker's, and the usual distance if there is none."""

_USUAL = 0.2
"""The share of recordings from which on what `_OF_CORPORA` describes is a property of the corpus, not a defect."""

_OF_CORPORA = {
    "digital-silence": "hold digital silence: the corpus was made with a noise gate",
    "saturated": "are saturated: the corpus was made with a limiter",
    "hum": "hum: so did the studio",
    "reverberant": "are reverberant: the room was",
}
"""What is heard in all recordings of some corpora, by reason, and why."""

_LEAST_CORRELATION = 0.6
"""The minimum rank correlation of phones and durations of a speaker. Correct transcripts have more than 0.9."""

_LEAST_BANDWIDTH = 0.8
"""The share of half the sample rate below which the store was upsampled, for 90 % of the recordings."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """The result of a check.

    Attributes:
        measures: the measures.
        thresholds: the thresholds.
        flagged: reason → [n] booleans.
        notes: sentences about the store or a speaker.
    """

    measures: Measures
    thresholds: tuple[Threshold, ...]
    flagged: Mapping[str, npt.NDArray[np.bool_]]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        dataset = self.measures.dataset
        return f"<Suspects: {len(self.positions):,} of {len(dataset):,} utterances of {dataset.path.name!r}>"

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """The positions of utterances with at least one reason, ascending."""
        return np.flatnonzero(np.any([*self.flagged.values()], axis=0))

    @property
    def ids(self) -> list[str]:
        """The ids of utterances with at least one reason, in the order of the store."""
        return list(self.measures.dataset[self.positions].id)

    def count(self, reason: str) -> int | None:
        """Return the number of utterances with a reason, or None if no utterance has its measure."""
        threshold = next(threshold for threshold in self.thresholds if threshold.reason == reason)
        values = self.measures.values(threshold.measure)
        return None if len(values) and np.isnan(values).all() else int(self.flagged[reason].sum())

    def why_unknown(self, reason: str) -> str:
        """Return why no utterance has the measure of a reason, such as ``fewer than 30 utterances``, if so."""
        if self.count(reason) is not None:
            return ""
        name = next(threshold.measure for threshold in self.thresholds if threshold.reason == reason)
        return why_missing(self.measures, name)

    def reasons(self, position: int) -> list[str]:
        """Return the reasons of one utterance."""
        return [reason for reason, mask in self.flagged.items() if mask[position]]

    def partner(self, reason: str, position: int) -> int | None:
        """Return the position of the utterance that the given one duplicates, or None."""
        measure = next(threshold.measure for threshold in self.thresholds if threshold.reason == reason)
        partners = self.measures.partners.get(measure)
        return None if partners is None or partners[position] < 0 else int(partners[position])


def suspects(measures: Measures, thresholds: Sequence[Threshold] = THRESHOLDS) -> Suspects:
    """Return the utterances of a store that are beyond a threshold. Missing values are not suspect.

    Example:
        >>> from tts_prep.checks import measure, suspects
        >>> from tts_prep.loader import UtteranceDataset
        >>> found = suspects(measure(UtteranceDataset("scored")))
        >>> found.count("text-duplicate")
        0

    Args:
        measures: the measures of the store, from `measure`.
        thresholds: the reasons and their limits, from `thresholds`.
    """
    flagged, notes = {}, []
    for threshold in thresholds:
        values = measures.values(threshold.measure)
        # Comparisons with NaN are false.
        mask = values > threshold.limit if threshold.above else values < threshold.limit
        if threshold.reason in _OF_CORPORA and mask.sum() > _USUAL * len(mask):
            notes.append(
                f"{mask.mean():.0%} of the recordings {_OF_CORPORA[threshold.reason]}, and it is no reason here; "
                f"--threshold '{threshold.measure}>{threshold.limit:g}' lists them."
            )
            mask = np.zeros_like(mask)
        flagged[threshold.reason] = mask
    if "audio-duplicate" in flagged and "near-duplicate" in flagged:
        # Equal recordings are also similar, but one reason suffices.
        flagged["near-duplicate"] = flagged["near-duplicate"] & ~flagged["audio-duplicate"]
    if "noisy" in flagged:
        # A decay is measured above the noise only. Reverberation fills the pauses, which WADA-SNR takes for noise.
        flagged["noisy"] = flagged["noisy"] & ~flagged.get("reverberant", np.False_)
        # Speech that is drowned fits no text and no voice.
        flagged.update({reason: flagged[reason] & ~flagged["noisy"] for reason in _DROWNED if reason in flagged})
    if "saturated" in flagged and "clipped" in flagged:
        flagged["saturated"] = flagged["saturated"] & ~flagged["clipped"]
    if "other-voice" in flagged:
        values, relative = measures.values("voice"), measures.values("voice_of_another")
        flagged["other-voice"] = flagged["other-voice"] & np.where(
            np.isnan(relative), values > _ALONE, relative > _OTHER_VOICE
        )
    notes += _notes(measures)
    return Suspects(measures, tuple(thresholds), flagged, tuple(notes))


def why_missing(measures: Measures, name: str) -> str:
    """Return why no utterance of a store has a measure, or a column, in a few words."""
    dataset, measure = measures.dataset, MEASURE.get(name)
    if measure is None:
        return "the column has no numbers"
    if measure.needs == "waveform" and not dataset.has_waveform:
        return "built without --waveform"
    if measure.needs == "phonemes" and not dataset.n_phonemes.any():
        return "no phonemes"
    if name == "rights":
        return "no row lacks a license, consent or origin that others have"
    if measure.of == "dataset":
        return "the store has not aligned itself, or fewer than ten utterances"
    if len(dataset) < measure.least:
        return f"fewer than {measure.least} utterances"
    if decibels_of_unit(dataset.metadata.audio_settings) is None and measure.needs != "waveform":
        return "the mels have no decibels" if dataset.n_mels else "no mels"
    return "too short, silent or alike"


def _notes(measures: Measures) -> Iterator[str]:
    dataset = measures.dataset
    needed = {threshold.measure for threshold in THRESHOLDS}
    # What the index has, or has not, was not left out.
    names = [measure.name for measure in MEASURES if measure.name in needed and measure.of != "dataset"]
    missing = [name for name in names if len(dataset) and np.isnan(measures.columns[name]).all()]
    of_whys: dict[str, list[str]] = {}
    for name in missing:
        of_whys.setdefault(why_missing(measures, name), []).append(name)
    for why, of_why in of_whys.items():
        yield f"Not measured: {', '.join(of_why)} ({why})."
    for speaker, correlation in measures.correlations.items():
        if correlation < _LEAST_CORRELATION:
            yield (
                f"Speaker {speaker}: the lengths of texts and recordings have a rank correlation of {correlation:.2f}, "
                "expected above 0.9; the transcripts do not belong to these recordings."
            )
    if measures.separation < LEAST_SEPARATION:
        yield (
            "The texts fit their recordings no better than texts of other recordings of about as many phones: the "
            "transcripts do not belong to these recordings, or the phones are not those that are said."
        )
    shares = measures.columns["boundaries"]
    if len(shares) and np.isfinite(share := float(shares.mean())):
        only = "Only an" if share < MEASURE["boundaries"].thresholds[0].limit else "An"
        estimate = doors.asked("estimates", "boundaries")(dataset) or f"{share:.0%}"
        yield f"{only} estimated {estimate} of the boundaries of phones are within 20 ms of the true ones."
    bandwidth = measures.columns["bandwidth"]
    known = bandwidth[np.isfinite(bandwidth)]
    if len(known) and (usual := float(np.percentile(known, 90))) < _LEAST_BANDWIDTH * dataset.sample_rate / 2:
        yield (
            f"Nine of ten recordings hold nothing above {usual:,.0f} Hz, at {dataset.sample_rate:,} Hz: "
            f"they were made at {2 * usual:,.0f} Hz or less, or low-passed."
        )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, C1 and bidirectional ones included."""


def write_ids(suspects: Suspects, path: Path) -> None:
    """Write the ids of the suspects, one per line, in UTF-8.

    Raises:
        WriteError: the file cannot be written.
    """
    with replacing(path) as partial:
        partial.write_text("".join(f"{id_}\n" for id_ in suspects.ids), encoding="utf-8", newline="\n")


def write_csv(
    suspects: Suspects, path: Path, columns: Mapping[str, Iterable[Any]], numbers: Mapping[str, npt.NDArray[np.float64]]
) -> None:
    """Write all utterances with their reasons (separated by spaces) as RFC 4180 CSV in UTF-8.

    Texts that a spreadsheet would take for a formula begin with an apostrophe, and control characters are escaped.

    Args:
        columns: the first columns by heading, [n] each.
        numbers: the next columns by heading, [n] each; NaN is an empty cell.

    Raises:
        WriteError: the file cannot be written.
    """
    cells = [map(_number, values.tolist()) for values in numbers.values()]
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, *numbers, "reasons"])
        texts = [map(_harmless, values) for values in columns.values()]
        for row, values in enumerate(zip(*texts, *cells, strict=True)):
            writer.writerow([*values, " ".join(suspects.reasons(row))])


def _harmless(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula, and no terminal for an escape sequence.

    An apostrophe precedes a text that starts like a formula, as spreadsheets show a text; control characters are
    escaped.
    """
    if not isinstance(value, str):
        return value
    text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], value)
    return f"'{text}" if value.startswith(_FORMULA) else text


def write_measures(suspects: Suspects, path: Path) -> None:
    """Write id, speaker, measures and reasons of all utterances, see `write_csv`."""
    dataset, measures = suspects.measures.dataset, suspects.measures.columns
    columns = {"id": dataset.id, "speaker": dataset.speaker}
    write_csv(suspects, path, columns, {f"{m.name} ({m.unit})": measures[m.name] for m in MEASURES})


def as_json(suspects: Suspects) -> dict[str, Any]:
    """Return thresholds, counts, notes and suspects as JSON-compatible values, with None for missing values."""
    dataset, columns = suspects.measures.dataset, suspects.measures.columns
    ids = dict(zip(suspects.positions.tolist(), suspects.ids, strict=True))
    return {
        "store": str(dataset.path),
        "utterances": len(dataset),
        "thresholds": {
            threshold.reason: {
                "measure": threshold.measure,
                "unit": threshold.unit,
                "above" if threshold.above else "below": threshold.limit,
                "why": threshold.why,
                "source": threshold.source,
                "suspects": suspects.count(threshold.reason),
                **({"not_measured": why} if (why := suspects.why_unknown(threshold.reason)) else {}),
            }
            for threshold in suspects.thresholds
        },
        "notes": list(suspects.notes),
        "suspects": [
            {
                "id": id_,
                "reasons": {
                    reason: None if (partner := suspects.partner(reason, row)) is None else dataset[partner].id
                    for reason in suspects.reasons(row)
                },
                "measures": {
                    m.name: float(columns[m.name][row]) if math.isfinite(columns[m.name][row]) else None
                    for m in MEASURES
                },
            }
            for row, id_ in ids.items()
        ],
    }


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
