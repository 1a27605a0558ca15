"""Durations of phonemes from a model of phones that is trained on the store itself."""

from typing import Final

from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Durations of phonemes from a model of phones that is trained on the store itself.",
    {"trained": (Row("durations", "tts_prep.aligner.training:TRAINED"),)},
    needs=("acoustics",),
)
