"""Rows, columns and arrays that leave a complete store."""

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("remove", "tts_prep.removal.command:remove", group=MAKE),)},
    needs=("additions", "corrections", "update"),
)
