"""Plots of utterances."""

from typing import Final

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

_VIEWS: Final = "tts_prep.pictures.utterances"

ROOM: Final = Room(
    "Plots of utterances.",
    {
        "views": (Row("plot", f"{_VIEWS}:plot"), Row("html", f"{_VIEWS}:html")),
        "commands": (Row("plot", "tts_prep.pictures.command:plot", group=INSPECT),),
    },
    needs=("signals",),
    libraries={"jinja2": "report", "markupsafe": "report", "PIL": "report", "matplotlib": "plot"},
)
