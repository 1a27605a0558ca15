"""Commands that print what a store has, and which values options accept."""

from tts_prep.core import INSPECT, LISTS
from tts_prep.doors import Room, Row

_LISTS = ("corpora", "presets", "features", "frontends", "languages", "symbols")

ROOM = Room(
    {
        "commands": (
            Row("info", "tts_prep.inspection.info:info", group=INSPECT),
            *(Row(name, f"tts_prep.inspection.lists:{name}", group=LISTS) for name in _LISTS),
        )
    },
)
