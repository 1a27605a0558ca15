"""What a model needs when it speaks: the ids of a text, and the mel of a recording, exactly as its store has them.

Both come from the manifest alone, a file of some kilobytes that can lie beside a checkpoint.

Example:
    >>> from tts_prep.inference import frontend_of, mel_of
    >>> frontend = frontend_of("store")
    >>> ids = frontend("Printing, in the only sense.")
    >>> ids.dtype
    dtype('int32')
    >>> mel = mel_of("store/manifest.json")
    >>> mel("LJSpeech-1.1/wavs/DEMO-0001.wav").shape[1]
    80

Every name is loaded on first use. Modules below this package are private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.inference.mels import StoreMel, mel_of
    from tts_prep.inference.texts import Reading, StoreFrontend, frontend_of

_MODULES = {
    "Reading": "tts_prep.inference.texts",
    "StoreFrontend": "tts_prep.inference.texts",
    "StoreMel": "tts_prep.inference.mels",
    "frontend_of": "tts_prep.inference.texts",
    "mel_of": "tts_prep.inference.mels",
}

__all__ = ["Reading", "StoreFrontend", "StoreMel", "frontend_of", "mel_of"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
