"""What an update of a store takes over from the store that it replaces."""

from tts_prep.doors import Room, Row

_KEPT = "tts_prep.update.kept_arrays"

ROOM = Room(
    {
        "update": (
            Row("features", f"{_KEPT}:recorded_features"),
            Row("rows", f"{_KEPT}:find_old_rows"),
            Row("complete", f"{_KEPT}:complete_store"),
            Row("line", f"{_KEPT}:incomplete_text"),
        )
    },
)
