"""Other containers of recordings than WAV."""

from tts_prep.doors import Room, Row

_FOLDER = "tts_prep.containers"

ROOM = Room(
    {
        "containers": (
            Row("aiff", f"{_FOLDER}.chunks:AIFF", "AIFF"),
            Row("au", f"{_FOLDER}.chunks:AU", "AU"),
            Row("caf", f"{_FOLDER}.chunks:CAF", "CAF"),
            Row("nist", f"{_FOLDER}.chunks:NIST", "SPH"),
            Row("flac", f"{_FOLDER}.xiph:FLAC", "FLAC"),
            Row("mpeg", f"{_FOLDER}.mpeg:MPEG", "MP3"),
            Row("ogg", f"{_FOLDER}.xiph:OGG", "Ogg Vorbis, Opus or FLAC"),
            Row("mp4", f"{_FOLDER}.ffmpeg:MP4", "MP4"),
            Row("matroska", f"{_FOLDER}.ffmpeg:MATROSKA", "WebM"),
            Row("adts", f"{_FOLDER}.ffmpeg:ADTS", "AAC"),
        ),
        "encodings": (Row("mpeg", f"{_FOLDER}.mpeg:inspect_frames"),),
    },
    libraries={"av": "ffmpeg"},
)
