"""IPA phonemes by espeak-ng.

phonemizer and espeak-ng are under the GPL: phonemizer is imported here, espeak-ng loaded here and in ``speech.py``, and
neither anywhere else.
"""

from __future__ import annotations

import importlib.metadata
import logging
import tempfile
import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, TextError, WriteError
from tts_prep.preprocess.text.espeak_files import espeak_library
from tts_prep.preprocess.text.symbols import PAD, PUNCTUATION, SYMBOLS
from tts_prep.preprocess.text.vocab import Vocab

# Only marks that the vocabulary has are kept: the others (brackets, say) end a clause for espeak and are not spoken.
_MARKS = PUNCTUATION.strip()
# The library keeps its state in global variables; a worker of a cluster may run several jobs in threads.
_ESPEAK = threading.Lock()
_NOT_SPOKEN = frozenset(PUNCTUATION + "ˈˌ")


class EspeakFrontend:
    """IPA with stress and punctuation; one espeak-ng instance for as long as the frontend lives.

    Args:
        language: a voice that espeak-ng has, such as ``en-us``, ``en-gb``, ``fr-fr``, ``cmn``.

    Raises:
        ConfigurationError: espeak-ng has no such language.
    """

    def __init__(self, language: str = "en-us") -> None:
        self.language = language
        self.vocab = Vocab(SYMBOLS, PAD)

    @cached_property
    def _backend(self) -> Any:
        from phonemizer.backend import EspeakBackend
        from phonemizer.backend.espeak.wrapper import EspeakWrapper

        library, data = espeak_library()
        EspeakWrapper.set_library(str(library))
        EspeakWrapper.set_data_path(str(data))
        quiet = logging.getLogger("tts_prep.espeak")
        quiet.setLevel(logging.CRITICAL)
        if not EspeakBackend.is_supported_language(self.language):
            known = sorted(EspeakBackend.supported_languages())
            similar = [name for name in known if name.split("-")[0] == self.language.split("-")[0]] or known
            raise ConfigurationError(
                f"language: espeak-ng has no {self.language!r}; it has {', '.join(similar[:12])}"
                f"{f' and {len(similar) - 12} more' if len(similar) > 12 else ''}"
            )
        return EspeakBackend(
            self.language,
            punctuation_marks=_MARKS,
            preserve_punctuation=True,
            with_stress=True,
            # A word that espeak speaks in another language would come with "(fr)" before it.
            language_switch="remove-flags",
            logger=quiet,
        )

    def _start(self) -> Any:
        try:
            return self._backend
        except OSError as error:
            # Every process has a copy of the library for itself.
            raise WriteError(
                f"{tempfile.gettempdir()}: espeak-ng's library cannot be copied there ({error.strerror or error}); set "
                "TMPDIR to a folder with room"
            ) from error
        except RuntimeError as error:
            raise ConfigurationError(
                f"{tempfile.gettempdir()}: espeak-ng's library cannot be loaded from there ({error}); set TMPDIR to a "
                "folder with room, on a file system without 'noexec'"
            ) from error

    def normalize(self, text: str) -> str:
        """Return the text with runs of white space made one space."""
        return " ".join(text.split())

    def phoneticize(self, text: str) -> str:
        """Return IPA phonemes, punctuation kept in its place.

        Raises:
            TextError: there is nothing to speak: no text, or punctuation only.
        """
        if not text:
            raise TextError("the text is empty")
        if "\0" in text:
            # It would end the text for espeak-ng, and what follows would be dropped without a word.
            raise TextError(f"a NUL character in {text[:60]!r}")
        phonemes = "".join(self._start().phonemize([text], strip=True))
        if _NOT_SPOKEN.issuperset(phonemes):
            raise TextError(f"nothing to speak in {text[:60]!r}")
        return phonemes

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return one id a character, [n_phonemes] int32.

        Raises:
            TextError: a character is not in the vocabulary.
        """
        return self.vocab.encode(phonemes)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text form of ids."""
        return "".join(self.vocab.decode(ids))

    def software(self) -> dict[str, str]:
        """Return the versions of phonemizer and espeak-ng."""
        version = ".".join(map(str, self._start().version()))
        return {"phonemizer": importlib.metadata.version("phonemizer"), "espeak-ng": version}
