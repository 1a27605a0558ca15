"""A page on which utterances are found, heard, marked and corrected."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "commands": (
            Row("review", "tts_prep.review.command:review", group=INSPECT),
            Row("merge-decisions", "tts_prep.review.command:merge_decisions", group=INSPECT),
        )
    },
    needs=("acoustics", "checks", "pictures", "report", "signals"),
)
