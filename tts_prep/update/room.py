"""What an update of a store takes over from the store that it replaces."""

from typing import Final

from tts_prep.doors import Room, Row

_KEPT: Final = "tts_prep.update.kept_arrays"

ROOM: Final = Room(
    "What an update of a store takes over from the store that it replaces.",
    {
        "update": (
            Row("features", f"{_KEPT}:recorded_features"),
            Row("rows", f"{_KEPT}:find_old_rows"),
            Row("complete", f"{_KEPT}:complete_store"),
        )
    },
)
