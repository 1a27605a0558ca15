"""The interface of features: arrays computed from one utterance at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep.errors import FeatureError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.cleaning.trimming import Cut
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import Energy, Mel, MelExtractor


@dataclass(frozen=True, eq=False)
class FeatureInput:
    """The input of a feature: one utterance. Expensive attributes are computed on first access.

    Attributes:
        id, speaker, text, phoneme_text: as in the index.
        phonemes: [n_phonemes] int32.
        n_frames: the number of frames of the mel in the store.
        extractor: the mel extractor of the store.
        read: returns the waveform from which the mel is computed.
        known: ``mel`` and ``energy``, if already computed.
        cut: the samples that trimming kept of the recording, or None.
        read_again: returns the waveform of which a store with other mel and reading settings would compute its mel;
            None without recordings.
    """

    id: str
    speaker: str
    text: str
    phoneme_text: str
    phonemes: npt.NDArray[np.int32]
    n_frames: int
    extractor: MelExtractor
    read: Callable[[], Waveform] = field(repr=False)
    known: Mapping[str, Array] = field(default_factory=dict, repr=False)
    cut: Cut | None = None
    read_again: Callable[[MelConfig, ReadingConfig], Waveform] | None = field(default=None, repr=False)

    @property
    def recipe(self) -> MelConfig:
        """The mel settings."""
        return self.extractor.config

    @cached_property
    def waveform(self) -> Waveform:
        """The recording at the sample rate of the mel, at its original level, [n_samples] float32.

        Raises:
            AudioError: the recording cannot be read.
        """
        return self.read()

    def recorded(self, mel: MelConfig, reading: ReadingConfig) -> Waveform:
        """Return the recording as a store with other settings has it, at the sample rate of its mel.

        Raises:
            AudioError: the recording cannot be read.
            FeatureError: there are no recordings.
        """
        if self.read_again is None:
            raise FeatureError("is computed from recordings; give the corpus that the store was made from")
        return self.read_again(mel, reading)

    @cached_property
    def energy(self) -> Energy:
        """The norm of the magnitudes of every frame, [n_frames] float32."""
        if "energy" in self.known:
            return self.known["energy"]
        return self.extractor.with_energy(self.waveform)[1][: self.n_frames]

    @cached_property
    def mel(self) -> Mel:
        """The log-mel spectrogram before it is stored at half precision, [n_frames, n_mels] float32."""
        if "mel" in self.known:
            return self.known["mel"]
        return self.extractor(self.waveform)[: self.n_frames]


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """The result of a feature for one utterance.

    Attributes:
        arrays: the values by array name, matching the feature's specs.
        counted: masks [rows] by array name of the rows to include in the statistics; all rows without an entry.
        remarks: pairs (kind, what) that the run counts, such as ``("pitch", "all frames unvoiced")``.
    """

    arrays: Mapping[str, Array]
    counted: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


class Feature(Protocol):
    """Computes arrays of an utterance. It is sent to worker processes, so it must be picklable.

    The values depend only on the utterance, the mel settings, and the settings in the specs. A feature may have a
    method ``restored(arrays)`` that returns the values of an utterance from its stored arrays by name; without it,
    updates compute all rows of a changed shard.
    """

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The specifications of the arrays, with settings and versions of libraries."""

    def source(self, utterance_id: str, speaker: str) -> str | None:
        """Return what stands for the inputs of an utterance other than its recording, such as a checksum; or None."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the arrays of one utterance.

        Raises:
            UtteranceError: they cannot be computed, or do not match the utterance.
        """


def settings_of(config: Any) -> dict[str, Any]:
    """Return a dataclass of settings as JSON, without those that are None."""
    return {name: value for name, value in vars(config).items() if value is not None}
