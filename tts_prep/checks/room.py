"""Quality measures of the utterances of a store, and detection of suspect ones."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "arrays": (Row("measures", "tts_prep.checks.measuring:measures_of_update", "--measures"),),
        "additions": (Row("measures", "tts_prep.checks.command:MEASURES"),),
        "commands": (Row("check", "tts_prep.checks.command:check", group=INSPECT),),
    },
    needs=("acoustics", "additions", "signals"),
)
