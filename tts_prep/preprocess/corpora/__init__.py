"""Corpus readers: from a root folder to utterances."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.corpora.utterance import Failure, Utterance

READERS: Final[Mapping[str, Callable[[Path], Iterator[Utterance | Failure]]]] = {"ljspeech": read_ljspeech}
"""The readers by the name that stands in a store's configuration."""

__all__ = ["READERS", "Failure", "Utterance", "read_ljspeech"]
