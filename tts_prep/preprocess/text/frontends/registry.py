"""The text frontends by name; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tts_prep.preprocess.text.frontends.frontend import Frontend, check_choice


def _espeak(**options: Any) -> Frontend:
    from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend

    return EspeakFrontend(**options)


def _arpabet(**options: Any) -> Frontend:
    from tts_prep.preprocess.text.frontends.arpabet import ArpabetFrontend

    return ArpabetFrontend(**options)


def _characters(**options: Any) -> Frontend:
    from tts_prep.preprocess.text.frontends.characters import CharactersFrontend

    return CharactersFrontend(**options)


def _phonemes(**options: Any) -> Frontend:
    from tts_prep.preprocess.text.frontends.phonemes import PhonemesFrontend

    return PhonemesFrontend(**options)


FRONTENDS: Final[Mapping[str, Callable[..., Frontend]]] = {
    "espeak": _espeak,
    "arpabet": _arpabet,
    "characters": _characters,
    "phonemes": _phonemes,
}
DEFAULT_FRONTEND: Final = "espeak"


def get_frontend(name: str = DEFAULT_FRONTEND, **options: Any) -> Frontend:
    """Make a frontend.

    Args:
        name: one of `FRONTENDS`.
        options: ``language="en-us"``; ``symbols``, a table of the caller's own, the position is the id; ``unknown``,
            one of `UNKNOWN_POLICIES`; ``punctuation``, one of `PUNCTUATION_STYLES`, None for the frontend's own.

    Raises:
        ConfigurationError: there is no frontend of that name, or an option has no such value.
    """
    check_choice("frontend", name, tuple(FRONTENDS))
    return FRONTENDS[name](**options)
