"""An HTML page about a store, and the cost of batches."""

from tts_prep.core import INSPECT
from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "commands": (
            Row("report", "tts_prep.report.command:report", group=INSPECT),
            Row("plan", "tts_prep.report.command:plan", group=INSPECT),
        )
    },
    needs=("acoustics", "checks", "diff", "inspection", "pictures"),
    libraries={"jinja2": "report", "markupsafe": "report"},
)
