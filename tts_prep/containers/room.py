"""Other containers of recordings than WAV."""

from typing import Final

from tts_prep.doors import Room, Row

_KINDS: Final = "tts_prep.containers.kinds"

ROOM: Final = Room(
    "Other containers of recordings than WAV.",
    {
        "containers": (
            Row("aiff", f"{_KINDS}:AIFF", "AIFF"),
            Row("au", f"{_KINDS}:AU", "AU"),
            Row("caf", f"{_KINDS}:CAF", "CAF"),
            Row("nist", f"{_KINDS}:NIST", "SPH"),
            Row("flac", f"{_KINDS}:FLAC", "FLAC"),
            Row("mpeg", f"{_KINDS}:MPEG", "MP3"),
            Row("ogg", f"{_KINDS}:OGG", "Ogg Vorbis, Opus or FLAC"),
            Row("mp4", f"{_KINDS}:MP4", "MP4"),
            Row("matroska", f"{_KINDS}:MATROSKA", "WebM"),
            Row("adts", f"{_KINDS}:ADTS", "AAC"),
        ),
        "encodings": (Row("mpeg", "tts_prep.containers.mpeg:inspect_frames"),),
    },
    libraries={"av": "ffmpeg"},
)
