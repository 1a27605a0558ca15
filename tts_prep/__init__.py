"""Prepare text-to-speech corpora once, load them fast ever after.

The folders `format`, `preprocess`, `loader` and `cli` are the core, which makes a store of LJ Speech and loads padded
batches of it. Every other folder is a room, whose module ``room`` says what it brings through the doors of
`tts_prep.doors`; the core works without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.errors import AlignmentError as AlignmentError
    from tts_prep.errors import AudioError as AudioError
    from tts_prep.errors import ConfigurationError as ConfigurationError
    from tts_prep.errors import CorpusChangedError as CorpusChangedError
    from tts_prep.errors import CorpusError as CorpusError
    from tts_prep.errors import CorruptStoreError as CorruptStoreError
    from tts_prep.errors import FeatureError as FeatureError
    from tts_prep.errors import MissingPackageError as MissingPackageError
    from tts_prep.errors import SamplingError as SamplingError
    from tts_prep.errors import StoreError as StoreError
    from tts_prep.errors import StoreInUseError as StoreInUseError
    from tts_prep.errors import TextError as TextError
    from tts_prep.errors import TooManyFailuresError as TooManyFailuresError
    from tts_prep.errors import TtsPrepError as TtsPrepError
    from tts_prep.errors import UtteranceError as UtteranceError
    from tts_prep.errors import WorkerError as WorkerError
    from tts_prep.errors import WriteError as WriteError
else:
    __all__, __getattr__, __dir__ = public_names(__name__)

__version__ = "0.3.0.dev6"
