"""The recipe that all shards of a store are made with."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from tts_prep import doors
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import FRAME, PHONEME, SAMPLE
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.configuration.records import Configuration, make_frontend, software_versions
from tts_prep.preprocess.features.feature import CorpusAlignments, Feature
from tts_prep.preprocess.plan.shard_plans import ShardPlan


@dataclass(frozen=True)
class ShardRecipe:
    """How all shards of a store are made; sent to the workers.

    Attributes:
        root: the folder of relative audio paths.
        config: the settings of the store.
        software: the versions of the libraries that compute the data.
        arrays: the arrays of the shards, as in their headers.
        vocabulary: the symbols and their ids, as in the headers.
        features: the features of added arrays.
        alignments: the alignments, if they change shards.
    """

    root: Path
    config: Configuration
    software: Mapping[str, str]
    arrays: Mapping[str, Mapping[str, Any]]
    vocabulary: Mapping[str, Any]
    features: tuple[Feature, ...] = ()
    alignments: CorpusAlignments | None = None

    @property
    def extractor(self) -> MelExtractor:
        """The mel extractor of this process."""
        return extractor_of(self.config.mel)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The fields that are equal in the headers of all shards."""
        return {
            "configuration": self.config.as_dict(),
            "software": self.software,
            "arrays": self.arrays,
            "vocabulary": self.vocabulary,
        }

    @cached_property
    def settings_sha256(self) -> str:
        """SHA-256 of the settings."""
        return json_sha256(self.settings)

    def key(self, plan: ShardPlan) -> str:
        """Return the key of a planned shard."""
        return plan.key(self.settings_sha256)


@lru_cache(maxsize=1)
def extractor_of(config: MelConfig) -> MelExtractor:
    """Return the mel extractor of this process. It is cached, because its tables take longer than a short mel."""
    return MelExtractor(config)


def make_recipe(
    config: Configuration, root: Path, features: tuple[Feature, ...] = (), alignments: CorpusAlignments | None = None
) -> ShardRecipe:
    """Return the recipe of all shards of a store.

    Args:
        root: the folder of relative audio paths.
    """
    frontend = make_frontend(config.text)
    software = {
        **software_versions(),
        **frontend.software(),
        **(doors.need("cleaning", "software")() if config.cleaning.trim_vad is not None else {}),
    }
    # Remote workers may have another working directory.
    return ShardRecipe(
        root.absolute(), config, software, _arrays(config), frontend.vocab.as_dict(), features, alignments
    )


def _arrays(config: Configuration) -> dict[str, dict[str, Any]]:
    """Return the entries of the arrays of the shards."""
    extractor = extractor_of(config.mel)
    mel: dict[str, Any] = {
        "dtype": config.store.mel_dtype,
        "row_shape": [config.mel.n_mels],
        "axis": FRAME,
        "sample_rate": config.mel.sample_rate,
        "hop_length": config.mel.hop_length,
        "silence": extractor.silence().tolist(),
    }
    if config.store.mel_dtype == "float16":
        mel["offset"] = extractor.half_precision_offset()
    arrays = {"mel": mel, "phonemes": {"dtype": "int32", "row_shape": [], "axis": PHONEME}}
    if config.store.waveform_dtype:
        arrays["waveform"] = {"dtype": config.store.waveform_dtype, "row_shape": [], "axis": SAMPLE}
    return arrays
