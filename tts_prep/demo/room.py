"""A small corpus, synthesized by espeak-ng."""

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("demo", "tts_prep.demo.command:demo", group=MAKE),)},
    needs=("export", "inspection"),
)
