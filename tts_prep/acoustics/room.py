"""Levels and silences of samples and mels, and a model of phones."""

from tts_prep.doors import Room

ROOM = Room()
