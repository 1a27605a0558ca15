"""Log-mel spectrograms of recordings, equal to those that vocoders were trained on."""

from tts_prep.preprocess.audio.compression import Compression, LogMagnitude, UnitMagnitude
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.processor import AudioProcessor

__all__ = [
    "PRESETS",
    "AudioProcessor",
    "Compression",
    "LogMagnitude",
    "MelConfig",
    "UnitMagnitude",
    "mel_spectrogram",
]
