"""Functions of batches of utterances, such as codecs and speaker encoders, in processes."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room(
    "Functions of batches of utterances, such as codecs and speaker encoders, in processes.",
)
