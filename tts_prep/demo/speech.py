"""Speech synthesis with the espeak-ng library in the espeakng-loader package.

espeak-ng is GPL-3.0-or-later; only this module and the espeak frontend load it.

The demo corpus and the benchmarks are synthesized by it: nothing to download, and the same bytes on every machine.
"""

import _ctypes
import ctypes
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.format.files.temporary import temporary_folder
from tts_prep.preprocess.text.frontends.espeak import espeak_library

WORDS_PER_MINUTE_RANGE = (80, 450)
PITCH_RANGE = (0, 100)

# Constants of espeak-ng's speak_lib.h.
_AUDIO_OUTPUT_SYNCHRONOUS = 2
_INITIALIZE_DONT_EXIT = 0x8000
_INITIALIZE_PHONEME_EVENTS = 0x0001
_PARAMETER_RATE = 1
_PARAMETER_PITCH = 3
_POSITION_CHARACTER = 1
_CHARACTERS_UTF8 = 1

_SEED = 1


class _Event(ctypes.Structure):
    """``espeak_EVENT`` of speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )


_LIST_TERMINATED, _PHONE = 0, 7
_SynthCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def speak(
    text: str, *, voice: str = "en-us", words_per_minute: int = 175, pitch: int = 50
) -> tuple[npt.NDArray[np.int16], int]:
    """Synthesize a text. Return the waveform [n_samples], int16 and mono, and the sample rate in Hz (22,050).

    The samples depend only on the arguments, not on earlier calls. It is safe to call from several threads, and
    together with phonemizer, which loads its own copy of the library.

    Args:
        voice: a voice of espeak-ng, optionally with a variant: ``en-us``, ``en-us+f3``.
        words_per_minute: 80 to 450.
        pitch: 0 to 100, without a unit; 50 is the voice's default.

    Raises:
        ConfigurationError: a setting is invalid, or the library cannot be loaded.
        TextError: the text contains control characters, or there is nothing to speak.
    """
    waveform, sample_rate, _ = speak_with_phones(text, voice=voice, words_per_minute=words_per_minute, pitch=pitch)
    return waveform, sample_rate


def speak_with_phones(
    text: str, *, voice: str = "en-us", words_per_minute: int = 175, pitch: int = 50
) -> tuple[npt.NDArray[np.int16], int, list[tuple[float, str]]]:
    """Synthesize a text like `speak`, and return also the starts of phones, from espeak-ng's events.

    Returns:
        The waveform, the sample rate, and for each phone its start in seconds and its name in espeak-ng's notation,
        empty for a pause. A phone ends where the next one starts, the last one with the waveform.
    """
    encoded = _encode(text)
    _check_range("words_per_minute", words_per_minute, WORDS_PER_MINUTE_RANGE)
    _check_range("pitch", pitch, PITCH_RANGE)
    blocks: list[bytes] = []
    phones: list[tuple[int, str]] = []

    def keep(samples: int | None, n_samples: int, events: int | None) -> int:
        if samples and n_samples > 0:
            blocks.append(ctypes.string_at(samples, 2 * n_samples))
        if events:
            phones.extend(_phones(events))
        return 0

    # espeak-ng has no reference to the callback, so it must live as long as the library.
    callback = _SynthCallback(keep)
    with _fresh_library() as (library, data_path):
        sample_rate = _initialize(library, data_path)
        library.espeak_SetSynthCallback(callback)
        _set_voice(library, data_path, voice)
        library.espeak_SetParameter(_PARAMETER_RATE, words_per_minute, 0)
        library.espeak_SetParameter(_PARAMETER_PITCH, pitch, 0)
        status = library.espeak_Synth(
            encoded, len(encoded) + 1, 0, _POSITION_CHARACTER, 0, _CHARACTERS_UTF8, None, None
        )
        if status != 0:
            raise TextError(f"{_shorten(text)}: espeak-ng cannot speak it, status {status}")
    waveform = np.frombuffer(b"".join(blocks), dtype=np.int16)
    if not waveform.any():
        raise TextError(f"{_shorten(text)}: espeak-ng finds nothing to say; expected a text with words")
    return waveform, sample_rate, [(sample / sample_rate, name) for sample, name in phones if sample < len(waveform)]


def _phones(events: int) -> Iterator[tuple[int, str]]:
    """Yield sample and name of each phone in a terminated list of events."""
    size = ctypes.sizeof(_Event)
    while (event := _Event.from_address(events)).type != _LIST_TERMINATED:
        if event.type == _PHONE:
            name = event.name.decode("utf-8", "replace")
            # espeak-ng names pauses _ or _:, by their length.
            yield event.sample, "" if name.startswith("_") else name
        events += size


def _encode(text: str) -> bytes:
    # Control characters are commands to espeak-ng, and a NUL ends the text.
    for position, character in enumerate(text):
        if unicodedata.category(character) == "Cc" and character not in "\t\n\r":
            raise TextError(f"{_shorten(text)}: control character U+{ord(character):04X} at {position}; remove it")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TextError(f"{_shorten(text)}: {error.reason} at {error.start}; expected Unicode text") from None


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _check_range(name: str, value: int, bounds: tuple[int, int]) -> None:
    low, high = bounds
    if not low <= value <= high:
        raise ConfigurationError(f"{name}: {value}, expected {low} to {high}")


@contextmanager
def _fresh_library() -> Iterator[tuple[ctypes.CDLL, Path]]:
    """Load a new copy of the library, and unload it at the end; yield it and its data folder.

    espeak-ng stores the phase of its pitch flutter, its gain and more in variables that neither espeak_Initialize nor
    espeak_Terminate resets, so that a second text would sound different. A copy of the library has its own variables.
    Copying takes 4 ms.
    """
    original, data = espeak_library()
    with temporary_folder() as folder:
        copy = folder / original.name
        try:
            shutil.copyfile(original, copy)
            library = ctypes.CDLL(str(copy))
        except OSError as error:
            raise ConfigurationError(
                f"{original.name}: cannot load espeak-ng: {error}; install the package espeakng-loader again"
            ) from None
        library.espeak_Synth.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        library.espeak_ng_SetRandSeed.argtypes = [ctypes.c_long]
        try:
            yield library, data
        finally:
            library.espeak_Terminate()
            _unload(library)


def _unload(library: ctypes.CDLL) -> None:
    # ctypes never unloads libraries, and Windows cannot delete a loaded file.
    if sys.platform == "win32":
        _ctypes.FreeLibrary(library._handle)
    else:
        _ctypes.dlclose(library._handle)


def _initialize(library: ctypes.CDLL, data_path: Path) -> int:
    path = os.fsencode(data_path)
    options = _INITIALIZE_DONT_EXIT | _INITIALIZE_PHONEME_EVENTS
    sample_rate: int = library.espeak_Initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, path, options)
    if sample_rate <= 0:
        raise ConfigurationError(
            f"{data_path}: espeak-ng cannot read its data, status {sample_rate}; "
            "install the package espeakng-loader again"
        )
    # Initialization seeds the noise of breathy voices from the clock.
    library.espeak_ng_SetRandSeed(_SEED)
    return sample_rate


def _set_voice(library: ctypes.CDLL, data_path: Path, voice: str) -> None:
    name, plus, variant = voice.partition("+")
    # espeak-ng silently ignores an unknown variant.
    variant_exists = not plus or (data_path / "voices" / "!v" / variant).is_file()
    if not name or not variant_exists or library.espeak_SetVoiceByName(voice.encode("utf-8", "replace")) != 0:
        raise ConfigurationError(
            f"voice: {voice!r} is not one of espeak-ng's; expected a name such as 'en-us' or 'en-us+f3'"
        )
