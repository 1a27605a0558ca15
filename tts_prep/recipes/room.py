"""Datasets and batches as other training systems define them."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room(
    "Datasets and batches as other training systems define them.",
)
