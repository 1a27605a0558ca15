"""Rows, columns and arrays that leave a complete store."""

from typing import Final

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Rows, columns and arrays that leave a complete store.",
    {"commands": (Row("remove", "tts_prep.removal.command:remove", group=MAKE),)},
    needs=("additions", "update"),
)
