"""Log-mel spectrograms of recordings, equal to those that vocoders were trained on.

Names are loaded on first use, so that settings and presets can be read without the libraries of audio.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.preprocess.audio.compression import Compression, LogMagnitude, UnitMagnitude
    from tts_prep.preprocess.audio.config import MelConfig
    from tts_prep.preprocess.audio.mel import mel_spectrogram
    from tts_prep.preprocess.audio.presets import PRESETS
    from tts_prep.preprocess.audio.processor import AudioProcessor

_MODULES = {
    "AudioProcessor": "processor",
    "Compression": "compression",
    "LogMagnitude": "compression",
    "MelConfig": "config",
    "PRESETS": "presets",
    "UnitMagnitude": "compression",
    "mel_spectrogram": "mel",
}

__all__ = [
    "PRESETS",
    "AudioProcessor",
    "Compression",
    "LogMagnitude",
    "MelConfig",
    "UnitMagnitude",
    "mel_spectrogram",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
