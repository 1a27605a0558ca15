"""From written text to phoneme ids: normalize, phoneticize, numericalize."""

from tts_prep.preprocess.text.frontends.frontend import Frontend
from tts_prep.preprocess.text.frontends.registry import FRONTENDS, get_frontend
from tts_prep.preprocess.text.vocab import Vocab

__all__ = ["FRONTENDS", "Frontend", "Vocab", "get_frontend"]
