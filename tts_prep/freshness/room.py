"""Whether a store is older than what it was made from."""

from tts_prep.doors import Room, Row

_SOURCES = "tts_prep.freshness.sources"

ROOM = Room(
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
