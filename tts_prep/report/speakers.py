"""Statistics by speaker: hours, and means of measures with z-scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.loader import UtteranceDataset
from tts_prep.quantities import number_text
from tts_prep.report.charts import QUANTILES
from tts_prep.report.columns import NumberColumn, has_numbers, pitch_tracks

LEAST_SPEAKERS = 5
"""The minimum number of speakers for z-scores. With fewer, an outlier determines the mean."""

_PITCH_UTTERANCES = 1_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Speakers:
    """The speakers with utterances, sorted by decreasing duration.

    Attributes:
        names: [n] names.
        codes: [n] int64, codes in the store.
        utterances: [n] int64, numbers of utterances.
        seconds: [n] durations.
        suspects: [n] int64, numbers of suspect utterances.
        suspects_z: [n], z-scores of their shares among speakers.
        columns: name and unit of each mean.
        means: [n, n_columns]; NaN is a missing value.
        z_scores: [n, n_columns], z-scores of the means among speakers; NaN if there are fewer than `LEAST_SPEAKERS`, or
            if all means are the same text.
    """

    names: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    utterances: npt.NDArray[np.int64]
    seconds: Floats
    suspects: npt.NDArray[np.int64]
    suspects_z: Floats
    columns: tuple[tuple[str, str], ...]
    means: Floats
    z_scores: Floats


def speaker_table(
    dataset: UtteranceDataset, columns: Sequence[NumberColumn], flagged: npt.NDArray[np.bool_]
) -> Speakers:
    """Compute the statistics of the speakers of a dataset.

    Args:
        dataset: the dataset.
        columns: the numeric columns of the dataset.
        flagged: [n] booleans, whether utterances are suspect.
    """
    codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
    n = len(dataset.speaker.table)
    count = np.bincount(codes, minlength=n)
    seconds = _sums(codes, np.asarray(dataset.seconds, float), n)
    order = np.array([code for code in np.argsort(-seconds, kind="stable") if count[code]], np.int64)
    names, means = _means(columns, codes, seconds)
    suspects = np.bincount(codes[flagged], minlength=n)[order]
    table = np.stack(means, axis=1)[order] if means else np.empty((len(order), 0))
    return Speakers(
        names=tuple(dataset.speaker.table[int(code)] for code in order),
        codes=order,
        utterances=count[order],
        seconds=seconds[order],
        suspects=suspects,
        suspects_z=_z_scores((suspects / count[order])[:, None])[:, 0],
        columns=tuple(names),
        means=table,
        z_scores=_z_scores(table),
    )


def _means(
    columns: Sequence[NumberColumn], codes: npt.NDArray[np.int64], seconds: Floats
) -> tuple[list[tuple[str, str]], list[Floats]]:
    """Return the names and units of the statistics, and the mean of each by speaker.

    Args:
        codes: [n] the speaker of each utterance.
        seconds: the duration of each speaker's utterances.
    """
    by_key = {column.key: column for column in columns}
    phones = _sums(codes, np.nan_to_num(by_key["phones"].values), len(seconds))
    names: list[tuple[str, str]] = []
    means: list[Floats] = []
    if phones.any():
        names.append(("speaking rate", "phones/s"))
        means.append(_ratio(phones, seconds))
    for column in columns:
        known = np.isfinite(column.values)
        if not column.by_speaker or not known.any():
            continue
        names.append((column.label, column.unit))
        sums = _sums(codes[known], column.values[known], len(seconds))
        means.append(_ratio(sums, np.bincount(codes[known], minlength=len(seconds)).astype(float)))
    return names, means


def pitch_ranges(dataset: UtteranceDataset, speakers: Speakers, n: int) -> list[tuple[str, list[float]]]:
    """Return the pitch `QUANTILES` of the first n speakers in Hz, from up to 1,000 utterances each."""
    if not has_numbers(dataset, "pitch", "frame"):
        return []
    codes = np.asarray(dataset.speaker.checked_codes(), np.int64)
    found = []
    for name, code in zip(speakers.names[:n], speakers.codes[:n].tolist(), strict=True):
        positions = np.flatnonzero(codes == code)
        chosen = positions[:: max(1, -(-len(positions) // _PITCH_UTTERANCES))]
        values = np.concatenate(list(pitch_tracks(dataset.select(chosen))))
        values = values[np.isfinite(values)]
        if len(values):
            found.append((name, np.quantile(values, QUANTILES).tolist()))
    return found


def _sums(codes: npt.NDArray[np.int64], values: Floats, n: int) -> Floats:
    # Without utterances, bincount returns integers.
    return np.bincount(codes, weights=values, minlength=n).astype(np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
    return ratio


def _z_scores(means: Floats) -> Floats:
    scores = np.full(means.shape, np.nan)
    for column in range(means.shape[1]):
        known = np.isfinite(means[:, column])
        values = means[known, column]
        # Means that differ by less than is shown, such as those of normalized peaks, are not far apart.
        differ = len({number_text(value) for value in values.tolist()}) > 1
        if len(values) >= LEAST_SPEAKERS and differ and (spread := float(values.std())) > 0:
            scores[known, column] = (values - values.mean()) / spread
    return scores
