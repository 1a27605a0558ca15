"""Stores behind URLs: downloads, and a cache that processes share."""

from tts_prep.core import MAKE
from tts_prep.doors import ANY, Room, Row

ROOM = Room(
    {
        "schemes": (Row(ANY, "tts_prep.remote.cache:CachedStore"),),
        "commands": (Row("fetch", "tts_prep.remote.command:fetch", group=MAKE),),
    },
)
