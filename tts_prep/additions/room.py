"""Arrays and columns that are added to a complete store."""

from typing import Final

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Arrays and columns that are added to a complete store.",
    {
        "added": (Row("durations", "tts_prep.additions.command:align"),),
        "commands": (Row("add", "tts_prep.additions.command:add", group=MAKE),),
    },
    needs=("tables",),
    libraries={"pandas": "pandas"},
)
