"""Corpus readers: they yield the utterances of a corpus."""

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
