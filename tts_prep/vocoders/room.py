"""Mel settings from the configuration files of other systems."""

from typing import Final

from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Mel settings from the configuration files of other systems.",
    {"configurations": (Row("vocoder", "tts_prep.vocoders.systems:read_vocoder_config"),)},
    libraries={"yaml": "yaml"},
)
