"""What a feature is: arrays that are computed from one utterance at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep.format.arrays import ArraySpec
from tts_prep.format.datasets import Array
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import Energy, Mel, MelExtractor


@dataclass(frozen=True, eq=False)
class FeatureInput:
    """One utterance, for a feature to be computed from. What costs something is computed when it is first used.

    Attributes:
        id, speaker, text, phoneme_text: as in the index.
        phonemes: [n_phonemes] int32.
        n_frames: of the mel in the store.
        extractor: of the mel's recipe.
        read: returns the waveform that the mel is made from.
        known: ``mel`` and ``energy``, where they are there already.
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

    @property
    def recipe(self) -> MelConfig:
        """The recipe of the mel."""
        return self.extractor.config

    @cached_property
    def waveform(self) -> Waveform:
        """The recording at the sample rate of the recipe, [n_samples] float32; its level is not changed.

        Raises:
            AudioError: the recording cannot be read any more.
        """
        return self.read()

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
    """The arrays of one utterance.

    Attributes:
        arrays: name → values, as the feature's specs say.
        counted: name → [rows] booleans: what the statistics count; all rows of an array without an entry.
        remarks: (kind, what) that a run counts, such as ``("pitch", "all frames unvoiced")``.
    """

    arrays: Mapping[str, Array]
    counted: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


class Feature(Protocol):
    """Computes arrays of an utterance. Sent to worker processes: an object of a module's class, small to pickle.

    The values depend on the utterance, the recipe of its mel, and the settings in the specs; on nothing else.
    """

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The arrays: name, dtype, shape and axis, and with them the settings and the versions of libraries."""

    def source(self, utterance_id: str, speaker: str) -> object:
        """Return what the values of an utterance come from beside its recording: JSON such as a checksum, or None."""

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the arrays of one utterance.

        Raises:
            UtteranceError: they cannot be computed, or do not fit the utterance.
        """


def settings_of(config: Any) -> dict[str, Any]:
    """Return a frozen dataclass of settings as JSON."""
    return {name: value for name, value in vars(config).items() if value is not None}
