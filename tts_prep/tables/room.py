"""Tables in files: parquet and arrow, with the recordings inside them, and the cells of tables as numbers."""

from typing import Final

from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Tables in files: parquet and arrow, with the recordings inside them, and the cells of tables as numbers.",
    {"inside": (Row("cell", "tts_prep.tables.process:read_cell"),)},
    libraries={"pyarrow": "parquet"},
)
