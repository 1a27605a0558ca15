"""Hints about probable mistakes: in commands, corpora, settings and texts."""

from tts_prep.doors import Room, Row

_HINTS = "tts_prep.hints"

ROOM = Room(
    {
        "hints": (
            Row("command", f"{_HINTS}.commands:command_hint"),
            Row("option", f"{_HINTS}.commands:option_hint"),
            Row("commands", f"{_HINTS}.commands:likely_commands"),
            Row("corpus", f"{_HINTS}.commands:what_it_is"),
            Row("settings", f"{_HINTS}.rows:notes"),
            Row("rows", f"{_HINTS}.rows:watched"),
        )
    }
)
