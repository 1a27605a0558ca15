"""Prepare a corpus, once and in parallel: read and resample audio, compute mels and phoneme ids, write shards.

Every name is loaded on first use, so that importing the package loads no library of audio or text. Modules below this
package are private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.additions.add_arrays import add_array as add_array
    from tts_prep.additions.add_arrays import add_durations as add_durations
    from tts_prep.additions.add_arrays import add_provenance as add_provenance
    from tts_prep.additions.add_columns import add_columns as add_columns
    from tts_prep.additions.add_columns import remove_columns as remove_columns
    from tts_prep.additions.column_table import ColumnTable as ColumnTable
    from tts_prep.corrections.rows import CorrectedRows as CorrectedRows
    from tts_prep.corrections.rows import Corrections as Corrections
    from tts_prep.format.records.arrays import ArraySpec as ArraySpec
    from tts_prep.format.records.failures import Failure as Failure
    from tts_prep.format.records.provenance import Provenance as Provenance
    from tts_prep.preprocess.audio.config import MelConfig as MelConfig
    from tts_prep.preprocess.audio.mel import mel_spectrogram as mel_spectrogram
    from tts_prep.preprocess.audio.presets import PRESETS as PRESETS
    from tts_prep.preprocess.configuration.records import Configuration as Configuration
    from tts_prep.preprocess.configuration.settings import configure as configure
    from tts_prep.preprocess.corpora.corpus import Corpus as Corpus
    from tts_prep.preprocess.corpora.corpus import read_corpus as read_corpus
    from tts_prep.preprocess.features.feature import Feature as Feature
    from tts_prep.preprocess.features.feature import FeatureInput as FeatureInput
    from tts_prep.preprocess.features.feature import FeatureValues as FeatureValues
    from tts_prep.preprocess.features.kinds import FeatureArrays as FeatureArrays
    from tts_prep.preprocess.features.kinds import FeatureColumn as FeatureColumn
    from tts_prep.preprocess.features.kinds import FeatureKind as FeatureKind
    from tts_prep.preprocess.features.kinds import make_feature as make_feature
    from tts_prep.preprocess.features.kinds import setting as setting
    from tts_prep.preprocess.make.asked import Part as Part
    from tts_prep.preprocess.make.resuming import finish_store as finish_store
    from tts_prep.preprocess.option import Option as Option
    from tts_prep.preprocess.run import Result as Result
    from tts_prep.preprocess.run import prepare as prepare
    from tts_prep.preprocess.source_utterance import SourceUtterance as SourceUtterance
    from tts_prep.preprocess.text.frontends.frontend import Frontend as Frontend
    from tts_prep.preprocess.text.frontends.frontend import get_frontend as get_frontend
    from tts_prep.preprocess.text.vocab import Vocab as Vocab
    from tts_prep.preprocess.workers.pool import Backend as Backend
    from tts_prep.progress import Progress as Progress
    from tts_prep.progress import ProgressBar as ProgressBar
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
