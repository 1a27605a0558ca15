"""Datasets and batches as other training systems define them."""

from typing import Final

from tts_prep.core import LISTS
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Datasets and batches as other training systems define them.",
    {"commands": (Row("recipes", "tts_prep.recipes.command:recipes", group=LISTS),)},
    needs=("batches", "signals", "vocoders"),
)
