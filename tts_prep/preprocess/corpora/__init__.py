"""Corpus readers: from a root folder to utterances."""

from tts_prep.preprocess.corpora.filelist import read_filelist
from tts_prep.preprocess.corpora.kaldi import read_kaldi
from tts_prep.preprocess.corpora.libritts import read_libritts
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.corpora.registry import ENTRY_POINTS, READERS, get_reader, read_corpus
from tts_prep.preprocess.corpora.splits import with_splits
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.corpora.vctk import read_vctk

__all__ = [
    "ENTRY_POINTS",
    "READERS",
    "Failure",
    "Utterance",
    "get_reader",
    "read_corpus",
    "read_filelist",
    "read_kaldi",
    "read_libritts",
    "read_ljspeech",
    "read_vctk",
    "with_splits",
]
