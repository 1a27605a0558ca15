"""A store in the layouts of other systems."""

from tts_prep.core import EXPORT
from tts_prep.doors import Room, Row

ROOM = Room(
    {"commands": (Row("export", "tts_prep.export.command:export", group=EXPORT),)},
    needs=("acoustics", "inference", "recipes"),
    libraries={"pyarrow": "parquet"},
)
