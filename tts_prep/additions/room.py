"""Arrays and columns that are added to a complete store."""

from tts_prep.core import MAKE
from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "added": (Row("durations", "tts_prep.additions.command:align"),),
        "commands": (Row("add", "tts_prep.additions.command:add", group=MAKE),),
    },
    needs=("tables",),
    libraries={"pandas": "pandas"},
)
