"""Suffixes of recordings."""

from __future__ import annotations

from typing import Final

AUDIO_SUFFIXES: Final = (
    ".wav",
    ".flac",
    ".mp3",
    ".mp2",
    ".ogg",
    ".oga",
    ".opus",
    ".aif",
    ".aiff",
    ".au",
    ".sph",
    ".w64",
    ".caf",
)
"""Suffixes of the containers that are read, in lower case."""
