"""A small corpus, synthesized by espeak-ng."""

from typing import Final

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "A small corpus, synthesized by espeak-ng.",
    {"commands": (Row("demo", "tts_prep.demo.command:demo", group=MAKE),)},
    needs=("export", "inspection"),
)
