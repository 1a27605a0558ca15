"""Other containers of recordings than WAV."""

from typing import Final

from tts_prep.doors import Room

ROOM: Final = Room(
    "Other containers of recordings than WAV.",
    libraries={"av": "ffmpeg"},
)
