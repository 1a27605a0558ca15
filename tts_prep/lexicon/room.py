"""What this room brings."""

from tts_prep.doors import Room, Row

ROOM = Room(
    rows={
        "words": [
            Row("read", "tts_prep.lexicon.words:read_lexicon"),
            Row("marks", "tts_prep.lexicon.marks:Marks"),
            Row("place", "tts_prep.lexicon.words:Words"),
            Row("line", "tts_prep.lexicon.unsure:line_of"),
            Row("unsure", "tts_prep.lexicon.unsure:unsure_lines"),
        ]
    },
)
