"""The settings that all shards of a store are made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import FRAME, PHONEME, SAMPLE
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.cleaning.voice_activity import voice_activity_software
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.configuration.records import Configuration, TextConfig, make_frontend
from tts_prep.preprocess.configuration.software import software_versions
from tts_prep.preprocess.features.alignments.applying import Alignments
from tts_prep.preprocess.features.feature import Feature
from tts_prep.preprocess.runs.plan import ShardPlan


@dataclass(frozen=True)
class ShardRecipe:
    """The settings of all shards of a store, sent to the workers.

    Attributes:
        root: the folder of relative audio paths.
        settings: the fields that are equal in the headers of all shards: ``configuration``, ``software``, ``arrays``,
            ``vocabulary``.
        features: the features of added arrays.
        alignments: the alignments, if they change shards.
    """

    root: Path
    settings: Mapping[str, Any]
    extractor: MelExtractor
    reading: ReadingConfig
    text: TextConfig
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    features: tuple[Feature, ...] = ()
    alignments: Alignments | None = None

    @cached_property
    def settings_sha256(self) -> str:
        """SHA-256 of the settings."""
        return json_sha256(self.settings)

    def key(self, plan: ShardPlan) -> str:
        """Return the key of a planned shard."""
        return plan.key(self.settings_sha256)


def recipe_of(config: Configuration, root: Path) -> ShardRecipe:
    """Return the recipe of all shards of a store."""
    extractor = MelExtractor(config.mel)
    frontend = make_frontend(config.text)
    settings: dict[str, Any] = {
        "configuration": config.as_dict(),
        "software": {
            **software_versions(),
            **frontend.software(),
            **(voice_activity_software() if config.cleaning.trim_vad is not None else {}),
        },
        "arrays": {
            "mel": {
                "dtype": config.store.mel_dtype,
                "row_shape": [config.mel.n_mels],
                "axis": FRAME,
                "sample_rate": config.mel.sample_rate,
                "hop_length": config.mel.hop_length,
                "silence": extractor.silence().tolist(),
                **({"offset": extractor.half_precision_offset()} if config.store.mel_dtype == "float16" else {}),
            },
            "phonemes": {"dtype": "int32", "row_shape": [], "axis": PHONEME},
            **(
                {"waveform": {"dtype": config.store.waveform_dtype, "row_shape": [], "axis": SAMPLE}}
                if config.store.waveform_dtype
                else {}
            ),
        },
        "vocabulary": frontend.vocab.as_dict(),
    }
    return ShardRecipe(root, settings, extractor, config.reading, config.text, config.cleaning)
