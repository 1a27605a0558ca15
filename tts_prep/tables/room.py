"""Tables in files: parquet and arrow, with the recordings inside them, and the cells of tables as numbers."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {"inside": (Row("cell", "tts_prep.tables.process:read_cell"),)},
    libraries={"pyarrow": "parquet"},
)
