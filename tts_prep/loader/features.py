"""Moved to `tts_prep.loader`."""

from tts_prep.loader.moved import moved

__getattr__ = moved(__name__, "tts_prep.loader")
