"""Text frontends: normalization, phonemes, and phoneme ids."""

from tts_prep.preprocess.text.frontends.frontend import Frontend
from tts_prep.preprocess.text.frontends.registry import get_frontend
from tts_prep.preprocess.text.vocab import Vocab

__all__ = ["Frontend", "Vocab", "get_frontend"]
