"""A page on which utterances are found, heard, marked and corrected."""

from typing import Final

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "A page on which utterances are found, heard, marked and corrected.",
    {
        "commands": (
            Row("review", "tts_prep.review.command:review", group=INSPECT),
            Row("merge-decisions", "tts_prep.review.command:merge_decisions", group=INSPECT),
        )
    },
    needs=("acoustics", "checks", "pictures", "report", "signals"),
)
