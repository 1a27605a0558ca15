"""Values from files: arrays, and durations from alignments."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "features": (Row("durations", "tts_prep.imports.alignment:KIND"),),
        "arrays": (Row("durations", "", "--alignments PATH"),),
        "imports": (
            Row("array", "tts_prep.imports.arrays:make_imported"),
            Row("alignments", "tts_prep.imports.alignment:open_alignments"),
        ),
    },
    libraries={"praatio": "prepare"},
)
