"""Plots of utterances."""

from typing import Final

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Plots of utterances.",
    {
        "commands": (Row("plot", "tts_prep.pictures.command:plot", group=INSPECT),),
    },
    libraries={"jinja2": "report", "markupsafe": "report", "PIL": "report", "matplotlib": "plot"},
)
