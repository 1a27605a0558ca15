"""Corpus readers: from a root folder to utterances."""

from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.corpora.utterance import Failure, Utterance

__all__ = ["Failure", "Utterance", "read_ljspeech"]
