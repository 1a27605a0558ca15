"""The array ``durations``: the frames of every phoneme, from alignments."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np

from tts_prep.errors import AlignmentError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.features.alignments.alignment import AlignmentConfig, AlignmentFolder
from tts_prep.preprocess.features.columns import SYMBOL_LENGTH
from tts_prep.preprocess.features.feature import FeatureInput, FeatureKind, FeatureValues


@dataclass(frozen=True)
class DurationsFeature:
    """The frames of every phoneme, whose sum is the number of frames of the mel.

    Corrections of the sum are counted as remarks.
    """

    settings: AlignmentConfig
    folder: AlignmentFolder
    sample_rate: int
    hop_length: int

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        """``durations`` [n_phonemes] int32."""
        software = {"praatio": version("praatio")}
        return (ArraySpec("durations", "int32", (), "phoneme", settings=self.settings.as_dict(), software=software),)

    def source(self, utterance_id: str, speaker: str) -> str | None:
        """Return the SHA-256 of the utterance's alignment; None if there is none."""
        return self.folder.sha256(utterance_id, speaker)

    def compute(self, utterance: FeatureInput) -> FeatureValues:
        """Return the durations of one utterance.

        Raises:
            AlignmentError: the alignment is missing or broken, its number of phones is not that of the phonemes, or its
                durations do not match the mel; or trimming cut off phones.
        """
        alignment = self.folder.read(utterance.id, utterance.speaker, self.settings.tier)
        if utterance.cut is not None:
            alignment = alignment.within(utterance.cut, self.settings, self.sample_rate, self.hop_length)
        if self.settings.silences == "cut":
            alignment = alignment.trimmed()
        if alignment.n_phones != len(utterance.phonemes):
            raise AlignmentError(
                f"{alignment.where}: {alignment.n_phones} phones, but the utterance has {len(utterance.phonemes)} "
                "phonemes"
                + ("" if self.settings.phonemes == "alignment" else "; phonemes=alignment uses those of the file")
            )
        durations, changed = alignment.durations(self.settings, self.sample_rate, self.hop_length, utterance.n_frames)
        remarks = (("durations", f"{changed:+d} frames added to a phone"),) if changed else ()
        return FeatureValues({"durations": durations.astype(np.int32)}, remarks=remarks)


def _make(recipe: MelConfig, settings: AlignmentConfig, alignments: Path) -> DurationsFeature:
    return DurationsFeature(settings, AlignmentFolder.open(alignments), recipe.sample_rate, recipe.hop_length)


KIND: Final = FeatureKind(
    "durations",
    "durations, the number of mel frames of every phoneme, from alignments, or aligned by the store itself",
    _make,
    AlignmentConfig,
    reads="alignments",
    other_names=("duration",),
    columns=(SYMBOL_LENGTH,),
)
