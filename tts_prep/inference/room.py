"""What a model needs when it speaks: the ids of a text, and the mel of a recording."""

from typing import Final

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "What a model needs when it speaks: the ids of a text, and the mel of a recording.",
    {"commands": (Row("phonemize", "tts_prep.inference.command:phonemize", group=INSPECT),)},
)
