"""Prepare text-to-speech corpora once, load them fast ever after."""

from tts_prep.errors import (
    AlignmentError,
    AudioError,
    ConfigurationError,
    CorpusChangedError,
    CorpusError,
    CorruptStoreError,
    FeatureError,
    MissingPackageError,
    SamplingError,
    StoreError,
    StoreInUseError,
    TextError,
    TooManyFailuresError,
    TtsPrepError,
    UtteranceError,
    WorkerError,
    WriteError,
)

__all__ = [
    "AlignmentError",
    "AudioError",
    "ConfigurationError",
    "CorpusChangedError",
    "CorpusError",
    "CorruptStoreError",
    "FeatureError",
    "MissingPackageError",
    "SamplingError",
    "StoreError",
    "StoreInUseError",
    "TextError",
    "TooManyFailuresError",
    "TtsPrepError",
    "UtteranceError",
    "WorkerError",
    "WriteError",
    "__version__",
]

__version__ = "0.2.0"
