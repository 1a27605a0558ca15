"""Levels and silences of samples and mels, and a model of phones."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room("Levels and silences of samples and mels, and a model of phones.")
