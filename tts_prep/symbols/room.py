"""Symbol tables in files, and what systems do to espeak-ng's phones before they look up ids."""

from tts_prep.doors import Room, Row

_PREPARATIONS = "tts_prep.symbols.voice"

ROOM = Room(
    {
        "symbols": (
            Row("file", "tts_prep.symbols.file:symbols_of_file"),
            Row("voice", "tts_prep.symbols.voice:VoiceTable.from_dict"),
        ),
        "preparations": tuple(Row(name, f"{_PREPARATIONS}:{name.upper()}") for name in ("kokoro", "piper", "coqui")),
    },
)
