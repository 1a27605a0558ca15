"""Plots of utterances."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

_VIEWS = "tts_prep.pictures.utterances"

ROOM = Room(
    {
        "views": (Row("plot", f"{_VIEWS}:plot"), Row("html", f"{_VIEWS}:html")),
        "commands": (Row("plot", "tts_prep.pictures.command:plot", group=INSPECT),),
    },
    needs=("signals",),
    libraries={"jinja2": "report", "markupsafe": "report", "PIL": "report", "matplotlib": "plot"},
)
