"""Prepare a corpus, once and in parallel: read and resample audio, compute mels and phoneme ids, write shards.

Every name is loaded on first use, so that importing the package loads no library of audio or text. Modules below this
package are private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.aligner.add_durations import add_durations
    from tts_prep.cluster.backends import Backend
    from tts_prep.format.records.arrays import ArraySpec
    from tts_prep.format.records.failures import Failure
    from tts_prep.format.records.provenance import Provenance
    from tts_prep.preprocess.add.add_array import add_array
    from tts_prep.preprocess.add.add_arrays import add_provenance
    from tts_prep.preprocess.add.add_columns import add_columns, remove_columns
    from tts_prep.preprocess.add.column_table import ColumnTable
    from tts_prep.preprocess.audio.config import MelConfig
    from tts_prep.preprocess.audio.mel import mel_spectrogram
    from tts_prep.preprocess.audio.presets import PRESETS
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.configuration.settings import configure
    from tts_prep.preprocess.corpora.corpus import Corpus
    from tts_prep.preprocess.corpora.corrections import CorrectedRows, Corrections
    from tts_prep.preprocess.corpora.registry import read_corpus
    from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
    from tts_prep.preprocess.features.columns import FeatureArrays, FeatureColumn
    from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
    from tts_prep.preprocess.features.kind import FeatureKind, setting
    from tts_prep.preprocess.features.registry import make_feature
    from tts_prep.preprocess.make.parts import Part, finish_store
    from tts_prep.preprocess.make.prepare import Result, prepare
    from tts_prep.preprocess.make.shard_run import Progress
    from tts_prep.preprocess.option import Option
    from tts_prep.preprocess.text.frontends.frontend import Frontend
    from tts_prep.preprocess.text.frontends.registry import get_frontend
    from tts_prep.preprocess.text.vocab import Vocab

_MODULES = {
    "ArraySpec": "tts_prep.format.records.arrays",
    "Backend": "tts_prep.cluster.backends",
    "ColumnTable": "tts_prep.preprocess.add.column_table",
    "Configuration": "tts_prep.preprocess.configuration.records",
    "CorrectedRows": "tts_prep.preprocess.corpora.corrections",
    "Corrections": "tts_prep.preprocess.corpora.corrections",
    "Corpus": "tts_prep.preprocess.corpora.corpus",
    "Failure": "tts_prep.format.records.failures",
    "Feature": "tts_prep.preprocess.features.feature",
    "FeatureArrays": "tts_prep.preprocess.features.columns",
    "FeatureColumn": "tts_prep.preprocess.features.columns",
    "FeatureInput": "tts_prep.preprocess.features.feature",
    "FeatureKind": "tts_prep.preprocess.features.kind",
    "FeatureValues": "tts_prep.preprocess.features.feature",
    "Frontend": "tts_prep.preprocess.text.frontends.frontend",
    "MelConfig": "tts_prep.preprocess.audio.config",
    "Option": "tts_prep.preprocess.option",
    "PRESETS": "tts_prep.preprocess.audio.presets",
    "Part": "tts_prep.preprocess.make.parts",
    "Progress": "tts_prep.preprocess.make.shard_run",
    "Provenance": "tts_prep.format.records.provenance",
    "Result": "tts_prep.preprocess.make.prepare",
    "SourceUtterance": "tts_prep.preprocess.corpora.source_utterance",
    "Vocab": "tts_prep.preprocess.text.vocab",
    "add_array": "tts_prep.preprocess.add.add_array",
    "add_columns": "tts_prep.preprocess.add.add_columns",
    "add_durations": "tts_prep.aligner.add_durations",
    "add_provenance": "tts_prep.preprocess.add.add_arrays",
    "configure": "tts_prep.preprocess.configuration.settings",
    "finish_store": "tts_prep.preprocess.make.parts",
    "get_frontend": "tts_prep.preprocess.text.frontends.registry",
    "make_feature": "tts_prep.preprocess.features.registry",
    "mel_spectrogram": "tts_prep.preprocess.audio.mel",
    "prepare": "tts_prep.preprocess.make.prepare",
    "read_corpus": "tts_prep.preprocess.corpora.registry",
    "remove_columns": "tts_prep.preprocess.add.add_columns",
    "setting": "tts_prep.preprocess.features.kind",
}

__all__ = [
    "PRESETS",
    "ArraySpec",
    "Backend",
    "ColumnTable",
    "Configuration",
    "Corpus",
    "CorrectedRows",
    "Corrections",
    "Failure",
    "Feature",
    "FeatureArrays",
    "FeatureColumn",
    "FeatureInput",
    "FeatureKind",
    "FeatureValues",
    "Frontend",
    "MelConfig",
    "Option",
    "Part",
    "Progress",
    "Provenance",
    "Result",
    "SourceUtterance",
    "Vocab",
    "add_array",
    "add_columns",
    "add_durations",
    "add_provenance",
    "configure",
    "finish_store",
    "get_frontend",
    "make_feature",
    "mel_spectrogram",
    "prepare",
    "read_corpus",
    "remove_columns",
    "setting",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
