"""What differs between two stores, by cause."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("diff", "tts_prep.diff.command:diff", group=INSPECT),)},
    needs=("inspection",),
)
