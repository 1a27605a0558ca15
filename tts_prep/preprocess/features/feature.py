"""A feature: arrays computed from one utterance at a time."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, FeatureError
from tts_prep.format.contents.array_file import checked_values
from tts_prep.format.layout import ARRAYS, SAMPLE
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.cleaning import Cut
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import Energy, Mel, MelExtractor
from tts_prep.preprocess.source_utterance import SourceUtterance


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
        row: its row of the corpus; None where the corpus is not read.
    """

    id: str
    speaker: str
    text: str
    phoneme_text: str
    phonemes: npt.NDArray[np.int32]
    n_frames: int
    extractor: MelExtractor
    read: Callable[[], Waveform] = field(repr=False)
    known: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)
    cut: Cut | None = None
    read_again: Callable[[MelConfig, ReadingConfig], Waveform] | None = field(default=None, repr=False)
    row: SourceUtterance | None = field(default=None, repr=False)

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

    arrays: Mapping[str, npt.NDArray[Any]]
    counted: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


class Feature(Protocol):
    """Computes arrays of an utterance. It is sent to worker processes, so it must be picklable.

    The values depend only on the utterance, the mel settings, and the settings in the specs. A feature may have a
    method ``restored(arrays)`` that returns the values of an utterance from its stored arrays by name; without it,
    updates compute all rows of a changed shard. With the attribute ``needs_energy``, the energy of an utterance is
    computed in the same pass as its mel.
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


class AlignedUtterance(Protocol):
    """The alignment of one utterance, to be applied to its recording and phonemes; methods can raise AlignmentError."""

    @property
    def phonemes(self) -> tuple[str, ...] | None:
        """The labels of phones as symbols; None if the frontend's phonemes are kept."""

    def within(self, cut: Cut, sample_rate: int, hop_length: int) -> AlignedUtterance:
        """Return the alignment of what trimming kept of the recording."""

    def cut(self, waveform: Waveform, sample_rate: int, hop_length: int) -> Waveform:
        """Return a recording without the silences at its ends, if they are to be cut."""

    def n_frames(self, sample_rate: int, hop_length: int, n_frames: int) -> int:
        """Return the number of mel frames to keep."""


class CorpusAlignments(Protocol):
    """The alignments of a corpus."""

    @property
    def settings(self) -> Any:
        """Their settings, which have a method ``as_dict``."""

    def read(self, utterance: SourceUtterance) -> AlignedUtterance:
        """Read the alignment of an utterance."""

    def with_checksums(self, items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
        """Yield the rows of a corpus with the checksums of their alignments, which become part of shard keys."""


def specs_of(features: Sequence[Feature]) -> dict[str, ArraySpec]:
    """Return the specifications of the arrays of features by name.

    Raises:
        ConfigurationError: one is no feature, or two have an array of the same name.
    """
    specs: dict[str, ArraySpec] = {}
    for feature in [features] if isinstance(features, str) else features:
        if not hasattr(feature, "specs"):
            raise ConfigurationError(
                "features: expected what make_feature returns, such as make_feature('pitch', {}, config.mel), found "
                f"{reprlib.repr(feature)}"
            )
        for spec in feature.specs:
            if spec.name in specs:
                raise ConfigurationError(f"two features have an array '{spec.name}'; drop one of them")
            specs[spec.name] = spec.checked()
    return specs


def lengths_of(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, int]:
    """Return the number of rows of an utterance by axis."""
    return {layout.axis: len(arrays[name]) for name, layout in ARRAYS.items() if name in arrays}


def computed(feature: Feature, utterance: FeatureInput, lengths: Mapping[str, int]) -> FeatureValues:
    """Compute a feature of an utterance, and check its arrays against their specifications.

    Args:
        lengths: the number of rows of the utterance by axis.

    Raises:
        UtteranceError: the feature cannot be computed, or its arrays do not match the utterance.
    """
    values = feature.compute(utterance)
    for spec in feature.specs:
        if spec.name not in values.arrays:
            raise FeatureError(f"array '{spec.name}': the feature returned none")
        if spec.axis == SAMPLE and SAMPLE not in lengths:
            raise FeatureError(f"array '{spec.name}', of the axis 'sample': {NO_WAVEFORMS}")
        checked_values(spec, values.arrays[spec.name], lengths.get(spec.axis))
    return values
