"""What a model needs when it speaks: the ids of a text, and the mel of a recording."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("phonemize", "tts_prep.inference.command:phonemize", group=INSPECT),)},
)
