"""The measures of utterances, each one record: what it is, how it is computed, and when it is suspect."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from tts_prep.checks.findings import Findings, Floats
from tts_prep.checks.mismatch import LEAST_UTTERANCES
from tts_prep.checks.transcripts import LEAST_SAMPLE, alignment_deviations, alignment_shares
from tts_prep.checks.voices import LEAST_IN_STORE
from tts_prep.checks.waveforms import Waveform
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.provenance import RIGHTS
from tts_prep.toml_files import read_toml

VERSION: Final = 3
"""The version of the definitions. Increase it when one of them changes: measures in an index are computed again."""


@dataclass(frozen=True)
class Threshold:
    """One reason to suspect an utterance.

    Attributes:
        reason: the name of the reason, as in the option ``--threshold``.
        above: whether values above the limit are suspect. Otherwise, values below it are.
        limit: the limit in the unit of the measure.
        why: the effect of such an utterance on training, or its cause.
        source: the source of the limit.
        measure: the name of the measure, which `Measure` fills in.
    """

    reason: str
    above: bool
    limit: float
    why: str = field(repr=False)
    source: str = field(repr=False)
    measure: str = ""

    @property
    def unit(self) -> str:
        """The unit of its measure; empty for another column."""
        return MEASURE[self.measure].unit if self.measure in MEASURE else ""


@dataclass(frozen=True)
class Measure:
    """One measure.

    Attributes:
        name: the name in files and options.
        unit: the unit.
        of: the argument of ``compute``: ``waveform`` (a `Waveform`; missing in a store without waveforms), ``sound`` (a
            `Waveform`, or a `MelSound` in such a store), both of which return the number of one utterance; ``store``
            (`Findings`) or ``dataset`` (an `UtteranceDataset`, whose index has the values), which return [n] numbers.
        compute: computes the measure; NaN is a missing value.
        meaning: one line for a page.
        definition: the definition in ``docs/check.md``, if ``meaning`` is not all there is to say.
        label: the displayed name; by default, the name with spaces.
        column: the column of the index; by default, the name. An empty string if the index has the values anyway.
        copy_column: the column of the index with the row of the earlier utterance, for measures of duplicates.
        by_speaker: whether a mean says something about a speaker.
        needs: what a store must have besides mels: ``waveform`` (all measures of waveforms need it) or ``phonemes``.
        least: the fewest utterances of a store in which it can be measured.
        thresholds: the thresholds beyond which an utterance is suspect.
    """

    name: str
    unit: str
    of: Literal["waveform", "sound", "store", "dataset"]
    compute: Callable[[Any], Any] = field(repr=False)
    meaning: str = field(default="", repr=False)
    definition: str = field(default="", repr=False)
    label: str = ""
    column: str | None = None
    copy_column: str = ""
    by_speaker: bool = False
    needs: Literal["", "waveform", "phonemes"] = ""
    least: int = 0
    thresholds: tuple[Threshold, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        filled = {
            "label": self.label or self.name.replace("_", " ").capitalize(),
            "column": self.name if self.column is None else self.column,
            "needs": "waveform" if self.of == "waveform" else self.needs,
            "thresholds": tuple(replace(threshold, measure=self.name) for threshold in self.thresholds),
        }
        for name, value in filled.items():
            object.__setattr__(self, name, value)

    @property
    def phrase(self) -> str:
        """The label inside a sentence."""
        return in_sentence(self.label)

    @property
    def unit_behind(self) -> str:
        """The unit after the label and a value, with a space before; empty if the label names it."""
        return "" if f" {self.unit} " in f" {self.phrase} " else f" {self.unit}"


def in_sentence(label: str) -> str:
    """Return a label in lower case; abbreviations keep their capitals."""
    return label if label.isupper() else label[0].lower() + label[1:]


def missing_rights(dataset: Any) -> Floats:
    """Return how many of `RIGHTS` a row lacks that others have, [n]; NaN without such columns.

    A licence or an origin of the store is that of all rows.
    """
    of_store = {"license": dataset.metadata.licence, "origin": dataset.metadata.origin}
    columns = [dataset.column(name) for name in RIGHTS if name in dataset.columns and not of_store.get(name)]
    # A number that is missing is not equal to itself.
    missing = [np.array([value == "" or value != value for value in column], np.bool_) for column in columns]
    counted = [rows for rows in missing if not rows.all()]
    return np.sum(counted, axis=0, dtype=np.float64) if counted else np.full(len(dataset), np.nan)


def _share(values: Floats) -> Floats:
    """Divide bandwidths by their 90th percentile."""
    known = values[np.isfinite(values)]
    usual = float(np.percentile(known, 90)) if len(known) else 0.0
    return values / usual if usual > 0 else np.full(len(values), np.nan)


def _phones(found: Findings) -> Floats:
    return found.phones if found.has_phonemes else np.full(len(found.phones), np.nan)


def _phone_rate(found: Findings) -> Floats:
    rates: Floats = np.divide(
        _phones(found), found.seconds, out=np.full(len(found.phones), np.nan), where=found.seconds > 0
    )
    return rates


_COMPUTE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "seconds": lambda dataset: np.array(dataset.seconds, np.float64),
    "phones": _phones,
    "phone_rate": _phone_rate,
    "loudness": Waveform.loudness,
    "snr": Waveform.snr,
    "pitch": lambda found: found.rows.pitches,
    "peak": Waveform.peak_level,
    "clipped_samples": Waveform.clipped_samples,
    "saturation": Waveform.saturation,
    "hum": Waveform.hum,
    "decay": lambda found: found.rows.decays,
    "silence_start": lambda sound: sound.silence.start,
    "silence_end": lambda sound: sound.silence.end,
    "silence_inside": lambda sound: sound.silence.inside,
    "digital_silence": Waveform.digital_silence,
    "level_start": lambda sound: sound.ends[0],
    "level_end": lambda sound: sound.ends[1],
    "bandwidth": Waveform.bandwidth,
    "bandwidth_share": lambda found: _share(found.of_sounds("bandwidth")),
    "audio_copies": lambda found: (found.copies["audio_copies"] >= 0).astype(float),
    "similarity": lambda found: found.similar[0],
    "text_copies": lambda found: (found.copies["text_copies"] >= 0).astype(float),
    "voice": lambda found: found.voice_distances[0],
    "voice_of_another": lambda found: found.voice_distances[1],
    "mismatch": lambda found: found.mismatches,
    "text_fit": lambda found: found.text_fits[0],
    "alignment": alignment_deviations,
    "boundaries": alignment_shares,
    "rights": missing_rights,
    "unspoken": lambda found: found.rows.compared.unspoken,
}
"""How each measure of ``measures.toml`` is computed."""


_LEAST: Final = {
    **dict.fromkeys(("voice", "voice_of_another"), LEAST_IN_STORE),
    **dict.fromkeys(("text_fit", "unspoken"), LEAST_SAMPLE),
    "mismatch": LEAST_UTTERANCES,
}
"""The fewest utterances with which these measures are computed."""


_TABLE: Final = read_toml(__package__, "measures.toml")
_ORDER: Final = _TABLE.pop("order")
"""The reasons in the order of output: sounds, duplicates, texts. Others come last."""


def _measures() -> Iterator[Measure]:
    for name, row in _TABLE.items():
        reasons = tuple(Threshold(**reason) for reason in row.pop("thresholds", ()))
        yield Measure(name, compute=_COMPUTE[name], thresholds=reasons, least=_LEAST.get(name, 0), **row)


MEASURES: Final = tuple(_measures())
"""All measures, in the order of columns."""

MEASURE: Final[Mapping[str, Measure]] = {measure.name: measure for measure in MEASURES}
"""The measures by name."""


def _place(threshold: Threshold) -> int:
    return _ORDER.index(threshold.reason) if threshold.reason in _ORDER else len(_ORDER)


THRESHOLDS: Final = tuple(sorted((threshold for m in MEASURES for threshold in m.thresholds), key=_place))
"""All reasons with their default limits, in the order of output."""


def column_threshold(text: str) -> Threshold | None:
    """Return the threshold of a condition such as ``wer>0.1`` on any column of numbers; None if it is no condition."""
    found = re.fullmatch(r"\s*([a-z]\w*)\s*([<>])\s*([^<>\s]+)\s*", text)
    try:
        limit = float(found[3]) if found else math.nan
    except ValueError:
        return None
    if found is None or math.isnan(limit):
        return None
    reason = f"{found[1]}{found[2]}{limit:g}"
    return Threshold(reason, found[2] == ">", limit, "", "chosen by the user", found[1])


def thresholds(limits: Mapping[str, float] | None = None) -> tuple[Threshold, ...]:
    """Return all reasons to suspect an utterance, in the order of output.

    Example:
        >>> from tts_prep.checks import thresholds
        >>> [one for one in thresholds({"clipped": 100}) if one.reason == "clipped"][0].limit
        100

    Args:
        limits: other limits for some reasons, by name.

    Raises:
        ConfigurationError: a reason is unknown, or a limit is not a number.
    """
    limits = limits or {}
    reasons = [threshold.reason for threshold in THRESHOLDS]
    for reason, limit in limits.items():
        if reason not in reasons:
            hint = _of_measure(reason, limit) or f"there are {', '.join(reasons)}"
            raise ConfigurationError(f"threshold '{reason}': there is no such reason; {hint}")
        if math.isnan(limit):
            raise ConfigurationError(f"threshold '{reason}': expected a number, found nan")
    return tuple(replace(threshold, limit=limits.get(threshold.reason, threshold.limit)) for threshold in THRESHOLDS)


def _of_measure(name: str, limit: float) -> str:
    """Return how to give a limit of a measure, if a name is that of a measure instead of a reason."""
    found = [threshold for threshold in THRESHOLDS if threshold.measure == name]
    if not found:
        return ""
    ways = (f"{threshold.reason}={limit:g}" for threshold in found)
    return f"it is a measure: give {' or '.join(ways)}, or {name}{'>' if found[0].above else '<'}{limit:g}"
