"""Mel settings from the configuration files of other systems."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {"configurations": (Row("vocoder", "tts_prep.vocoders.systems:read_vocoder_config"),)},
    libraries={"yaml": "yaml"},
)
