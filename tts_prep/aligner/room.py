"""Durations of phonemes from a model of phones that is trained on the store itself."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {"trained": (Row("durations", "tts_prep.aligner.training:TRAINED"),)},
    needs=("acoustics",),
)
