"""Moved to `tts_prep.recipes`."""

from tts_prep.loader.moved import moved

__getattr__ = moved(__name__, "tts_prep.recipes.vocos")
