"""Figures of other languages than English: dates, times, money, units, ordinals and numbers in words."""

from tts_prep.doors import Room, Row

_LANGUAGES = ("ar", "de", "es", "fr", "hi", "id", "it", "nl", "pl", "pt", "ru", "tr", "uk", "vi")
"""Each has a table in ``languages/``."""

ROOM = Room(
    {"languages": tuple(Row(language, f"tts_prep.figures.reader:{language}") for language in _LANGUAGES)},
    libraries={"unicode_rbnf": "prepare"},
)
