"""Corrected texts and speakers of a corpus, and rows that are left out."""

from tts_prep.doors import Room, Row

_ROWS = "tts_prep.corrections.rows"

ROOM = Room(
    {
        "corrections": (
            Row("chosen", f"{_ROWS}:chosen_corrections"),
            Row("stored", f"{_ROWS}:Corrections.of_store"),
            Row("lines", f"{_ROWS}:corrections_lines"),
        )
    }
)
