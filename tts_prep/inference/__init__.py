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

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.inference.mels import StoreMel as StoreMel
    from tts_prep.inference.mels import mel_of as mel_of
    from tts_prep.inference.texts import Reading as Reading
    from tts_prep.inference.texts import StoreFrontend as StoreFrontend
    from tts_prep.inference.texts import frontend_of as frontend_of
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
