"""Numeric columns of utterances: measures of the checks, and means of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.measures import UNITS, Measures
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.showing import hertz
from tts_prep.quantities import number_text

_NAMES = {
    "seconds": "Length",
    "phone_rate": "Speaking rate",
    "snr": "SNR",
    "silence_start": "Silence at the start",
    "silence_end": "Silence at the end",
    "level_start": "Level at the start",
    "level_end": "Level at the end",
    "bandwidth_share": "Relative bandwidth",
    "audio_copies": "Earlier copies of the audio",
    "similarity": "Correlation with an earlier mel",
    "text_copies": "Earlier copies of the text",
    "mismatch": "Mismatch of length",
    "unspoken": "Unspoken phones",
}
"""Displayed names that differ from the names of measures."""

_MEANINGS = {
    "phone_rate": "Phones per second of the recording, with its silences.",
    "pitch": "Mean of the voiced frames.",
    "loudness": "Integrated loudness (ITU-R BS.1770).",
    "snr": "Signal-to-noise ratio, estimated by WADA-SNR; 100 is its maximum.",
    "energy": "Mean of the frames.",
    "symbol_length": "Mean of the symbols with a duration.",
    "phones": "Symbols without spaces, stress, length marks and punctuation.",
    "peak": "Largest absolute sample.",
    "clipped_samples": "Samples of flat peaks: three or more in a row at the highest or lowest value.",
    "silence_start": "Time before the first frame within 40 dB of the loudest.",
    "silence_end": "Time after the last frame within 40 dB of the loudest.",
    "silence_inside": "Longest pause: frames more than 40 dB below the loudest.",
    "digital_silence": "Longest run of samples that are exactly 0, except at the ends.",
    "level_start": "First 10 ms, or of a mel the first frame, relative to the loudest frame; −∞ for noise only.",
    "level_end": "Last 10 ms, or of a mel the last frame, relative to the loudest frame; −∞ for noise only.",
    "bandwidth": "Highest frequency within 70 dB of the strongest; low in recordings that were upsampled.",
    "bandwidth_share": "Bandwidth, divided by the 90th percentile of the store.",
    "similarity": "Highest correlation of the mel with the mel of an earlier utterance of similar length.",
    "mismatch": "Residual of the length that phones and pauses predict for the speaker; positive if longer.",
    "text_fit": "How much better the recording fits its text than other texts: 1 is usual, 0 is no better.",
    "unspoken": "Phones at the end of the text that are not heard in the recording.",
}
"""What measures are, in one line; docs/check.md defines them."""

_FIRST = ("seconds", "phone_rate", "pitch", "loudness", "snr", "energy", "symbol_length")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number for each checked utterance.

    Attributes:
        key: the name in files.
        name: the displayed name.
        unit: the unit of the values.
        values: [n] float64; NaN is a missing value.
    """

    key: str
    name: str
    unit: str
    values: npt.NDArray[np.float64]

    @property
    def label(self) -> str:
        """The name inside a sentence."""
        return _label(self.name)

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return self.label if _repeats(self.label, self.unit) else f"{self.label} ({self.unit})"

    @property
    def meaning(self) -> str:
        """What the values are, in one line."""
        return _MEANINGS.get(self.key, "")

    def fact(self, position: int) -> str:
        """Return the value of an utterance with its unit, and with its name if the unit does not tell."""
        name = "" if self.key in ("seconds", "phone_rate") else f"{self.label} "
        return f"{name}{number_text(float(self.values[position]))} {self.unit}"

    @property
    def varies(self) -> bool:
        """Whether there are two different finite values that are not only 0 and 1, for no and yes."""
        finite = self.values[np.isfinite(self.values)]
        return len(finite) > 1 and float(finite.min()) < float(finite.max()) and not np.isin(finite, (0, 1)).all()


def measure_label(key: str) -> str:
    """Return the name of a measure inside a sentence."""
    return _label(_name(key))


def measure_unit(key: str) -> str:
    """Return the unit of a measure after its label and a value, with a space before; empty if the label names it."""
    return "" if _repeats(measure_label(key), UNITS[key]) else f" {UNITS[key]}"


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " ").capitalize())


def _label(name: str) -> str:
    """Return a name in lower case; abbreviations keep their capitals."""
    return name if name.isupper() else name[0].lower() + name[1:]


def _repeats(label: str, unit: str) -> bool:
    return f" {unit} " in f" {label} "


def number_columns(measures: Measures) -> list[NumberColumn]:
    """Return the columns of a store, the most important first, including its pitch, energy and durations."""
    columns = [NumberColumn(key, _name(key), UNITS[key], values) for key, values in measures.columns.items()]
    known = {column.key for column in columns if np.isfinite(column.values).any()}
    features = [column for column in _features(measures.dataset) if column.key not in known]
    columns = [column for column in columns if column.key not in {feature.key for feature in features}] + features
    order = {key: place for place, key in enumerate(_FIRST)}
    return sorted(columns, key=lambda column: order.get(column.key, len(order)))


def _features(dataset: UtteranceDataset) -> Iterator[NumberColumn]:
    seconds_per_frame = dataset.hop_length / dataset.sample_rate
    if has_numbers(dataset, "pitch", "frame"):
        values = [_mean(track[np.isfinite(track)]) for track in pitch_tracks(dataset)]
        yield NumberColumn("pitch", "Pitch", "Hz", np.array(values, float))
    if has_numbers(dataset, "energy", "frame"):
        values = [_mean(view) for view in dataset.views("energy")]
        yield NumberColumn("energy", "Energy", "L2 norm", np.array(values, float))
    if has_numbers(dataset, "durations", "phoneme"):
        values = [_mean(view[view > 0]) * seconds_per_frame * 1000 for view in dataset.views("durations")]
        yield NumberColumn("symbol_length", "Length of a symbol", "ms", np.array(values, float))


def has_numbers(dataset: UtteranceDataset, name: str, axis: str) -> bool:
    """Return whether the store has an array with one number per frame or phoneme."""
    spec = dataset.arrays.get(name)
    return spec is not None and spec.axis == axis and not spec.row_shape


def pitch_tracks(dataset: UtteranceDataset) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the pitch of each utterance, [n_frames] Hz, NaN where unvoiced."""
    spec = dataset.arrays["pitch"]
    pitch = dataset.views("pitch")
    voiced = dataset.views("voiced") if has_numbers(dataset, "voiced", "frame") else [None] * len(pitch)
    for values, mask in zip(pitch, voiced, strict=True):
        yield hertz(spec, values, mask)


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else float("nan")
