"""Corpus readers: they yield the utterances of a corpus.

Every name is loaded on first use: a run needs one reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.format.records.failures import Failure
    from tts_prep.preprocess.corpora.aishell3 import read_aishell3
    from tts_prep.preprocess.corpora.baker import read_baker
    from tts_prep.preprocess.corpora.corpus import Corpus, Reader
    from tts_prep.preprocess.corpora.css10 import read_css10
    from tts_prep.preprocess.corpora.filelist import read_filelist
    from tts_prep.preprocess.corpora.jsut import read_jsut
    from tts_prep.preprocess.corpora.kaldi import read_kaldi
    from tts_prep.preprocess.corpora.kss import read_kss
    from tts_prep.preprocess.corpora.libritts import read_libritts
    from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
    from tts_prep.preprocess.corpora.recordings import read_recordings
    from tts_prep.preprocess.corpora.registry import CORPORA, get_corpus, import_reader, read_corpus
    from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
    from tts_prep.preprocess.corpora.splits import with_splits
    from tts_prep.preprocess.corpora.vctk import read_vctk
    from tts_prep.preprocess.option import Option

_MODULES = {
    "CORPORA": "tts_prep.preprocess.corpora.registry",
    "Corpus": "tts_prep.preprocess.corpora.corpus",
    "Failure": "tts_prep.format.records.failures",
    "Option": "tts_prep.preprocess.option",
    "Reader": "tts_prep.preprocess.corpora.corpus",
    "SourceUtterance": "tts_prep.preprocess.corpora.source_utterance",
    "get_corpus": "tts_prep.preprocess.corpora.registry",
    "import_reader": "tts_prep.preprocess.corpora.registry",
    "read_aishell3": "tts_prep.preprocess.corpora.aishell3",
    "read_baker": "tts_prep.preprocess.corpora.baker",
    "read_corpus": "tts_prep.preprocess.corpora.registry",
    "read_css10": "tts_prep.preprocess.corpora.css10",
    "read_filelist": "tts_prep.preprocess.corpora.filelist",
    "read_jsut": "tts_prep.preprocess.corpora.jsut",
    "read_kaldi": "tts_prep.preprocess.corpora.kaldi",
    "read_kss": "tts_prep.preprocess.corpora.kss",
    "read_libritts": "tts_prep.preprocess.corpora.libritts",
    "read_ljspeech": "tts_prep.preprocess.corpora.ljspeech",
    "read_recordings": "tts_prep.preprocess.corpora.recordings",
    "read_vctk": "tts_prep.preprocess.corpora.vctk",
    "with_splits": "tts_prep.preprocess.corpora.splits",
}

__all__ = [
    "CORPORA",
    "Corpus",
    "Failure",
    "Option",
    "Reader",
    "SourceUtterance",
    "get_corpus",
    "import_reader",
    "read_aishell3",
    "read_baker",
    "read_corpus",
    "read_css10",
    "read_filelist",
    "read_jsut",
    "read_kaldi",
    "read_kss",
    "read_libritts",
    "read_ljspeech",
    "read_recordings",
    "read_vctk",
    "with_splits",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
