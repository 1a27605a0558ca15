"""The inputs of a function for the utterances of a shard: waveforms, texts and arrays, from the store or its corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.errors import NO_WAVEFORMS, FeatureError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.layout import FRAME, PHONEME, SAMPLE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.models.function import SAMPLE_RATE, WAVEFORMS
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.reading import resample
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make import feature_inputs
from tts_prep.preprocess.plan.shard_plans import ShardPlan
from tts_prep.preprocess.plan.shard_settings import ShardRecipe

TEXTS: Final = {"ids": "id", "speakers": "speaker", "texts": "text", "phoneme_texts": "phoneme_text"}
"""The arguments that are columns of every shard."""

NAMES: Final = (WAVEFORMS, "mels", "phonemes", *TEXTS)
"""The arguments that every store has."""


@dataclass(frozen=True)
class Source:
    """Where the inputs of a function come from; sent to processes.

    Attributes:
        recipe: how the shards were made from the corpus; None reads the stored waveforms.
        arrays: the added arrays that a function can name.
        columns: the columns of the index.
    """

    store: Path
    config: Configuration
    recipe: ShardRecipe | None
    arrays: Mapping[str, ArraySpec] = field(default_factory=dict)
    columns: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All arguments that a function can have."""
        return frozenset((*NAMES, SAMPLE_RATE, *self.arrays, *self.columns))


class ShardInputs:
    """The inputs for the utterances of one shard.

    Args:
        plan: the plan of the shard, if recordings are read.
    """

    def __init__(self, source: Source, number: int, plan: ShardPlan | None) -> None:
        self._source, self._number = source, number
        self._stored = feature_inputs.StoredRows(source.store, feature_inputs.intact_shard(source.store, number))
        self._recordings = feature_inputs.ShardRecordings(plan.rows, source.recipe) if plan and source.recipe else None
        self._seconds = self._stored.numbers("seconds").tolist()
        self._values: dict[str, Sequence[Any]] = {}

    @property
    def arrays(self) -> Mapping[str, ArraySpec]:
        """The added arrays that a function can name."""
        return self._source.arrays

    @property
    def sample_rate(self) -> int:
        """The sample rate of the store, Hz."""
        return self._source.config.mel.sample_rate

    def lengths(self, position: int) -> dict[str, int]:
        """Return the number of rows of an utterance by axis."""
        return {axis: of_axis[position] for axis, of_axis in self._stored.rows.lengths.items()}

    def seconds(self, position: int) -> float:
        """Return the duration of an utterance in seconds."""
        return float(self._seconds[position])

    def value(self, name: str, position: int, sample_rate: int | None) -> Any:
        """Return an argument for an utterance.

        Raises:
            UtteranceError: its recording cannot be read.
            CorpusChangedError: its recording has changed since the run was planned.
        """
        if name == WAVEFORMS:
            return self._waveform(position, sample_rate)
        if name not in self._values:
            self._values[name] = self._column(name)
        value = self._values[name][position]
        if name in TEXTS:
            return value
        # A copy for each call: functions may change their arguments in place, and a failed batch is tried again.
        return np.array(value, np.float32) + self._offset if name == "mels" else np.array(value)

    def _column(self, name: str) -> Sequence[Any]:
        if name in TEXTS:
            return self._stored.texts(TEXTS[name])
        if name == "phonemes":
            return self._stored.array(name, PHONEME)
        if name == "mels":
            return self._stored.array("mel", FRAME)
        return feature_inputs.stored_values(self._source.store, self._source.arrays[name], self._number, self._stored)

    @property
    def _offset(self) -> np.float32:
        """What is added to the stored mels."""
        return np.float32(self._stored.header.arrays["mel"].get("offset", 0.0))

    @cached_property
    def _waveforms(self) -> list[Array] | None:
        return self._stored.array("waveform", SAMPLE) if SAMPLE in self._stored.rows.lengths else None

    def _waveform(self, position: int, sample_rate: int | None) -> Waveform:
        rows, config = self._stored.rows, self._source.config
        if self._recordings:
            waveform = self._recordings.reader(rows.ids[position], rows.lengths[FRAME][position])()
        elif self._waveforms is not None:
            waveform = feature_inputs.float_waveform(self._waveforms[position])
        else:
            raise FeatureError(NO_WAVEFORMS)
        rate = config.mel.sample_rate
        return np.array(resample(waveform, rate, sample_rate or rate, config.reading.resampler), np.float32)


def batches_of(seconds: Sequence[float], batch_seconds: float) -> list[tuple[int, ...]]:
    """Return the positions of utterances in batches, the longest first; they depend on these durations alone.

    Args:
        seconds: the duration of each utterance.
        batch_seconds: the maximum of the number of utterances of a batch times its longest duration. A longer utterance
            is alone.
    """
    batches: list[list[int]] = []
    longest = 0.0
    # The longest first, so that one that does not fit into memory is the first.
    for position in np.argsort(-np.asarray(seconds, np.float64), kind="stable").tolist():
        if not batches or (len(batches[-1]) + 1) * longest > batch_seconds:
            batches.append([])
            longest = seconds[position]
        batches[-1].append(position)
    return [tuple(batch) for batch in batches]
