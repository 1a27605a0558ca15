"""Whether a store is older than what it was made from."""

from typing import Final

from tts_prep.doors import Room, Row

_SOURCES: Final = "tts_prep.freshness.sources"

ROOM: Final = Room(
    "Whether a store is older than what it was made from.",
    {
        "sources": (
            Row("command", f"{_SOURCES}:record_command"),
            Row("imports", f"{_SOURCES}:record_imports"),
            Row("removed", f"{_SOURCES}:forget_removed"),
            Row("history", f"{_SOURCES}:recorded_in_history"),
            Row("outdated", f"{_SOURCES}:say_if_outdated"),
            Row("outdated imports", f"{_SOURCES}:say_if_imports_changed"),
        )
    },
)
