"""Datasets and batches as other training systems define them."""

from tts_prep.core import LISTS
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("recipes", "tts_prep.recipes.command:recipes", group=LISTS),)},
    needs=("batches", "signals", "vocoders"),
)
