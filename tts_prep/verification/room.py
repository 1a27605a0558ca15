"""Checks all files of a store, and makes broken ones again."""

from tts_prep.core import VERIFY
from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "verification": (Row("require_intact", "tts_prep.verification.files:require_intact"),),
        "commands": (
            Row("verify", "tts_prep.verification.command:verify", group=VERIFY),
            Row("reindex", "tts_prep.verification.command:reindex", group=VERIFY),
        ),
    },
)
