"""What differs between two stores, by cause."""

from typing import Final

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "What differs between two stores, by cause.",
    {"commands": (Row("diff", "tts_prep.diff.command:diff", group=INSPECT),)},
    needs=("inspection",),
)
