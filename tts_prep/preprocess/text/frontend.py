"""What a text frontend is, and the frontends by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.vocab import Vocab


class Frontend(Protocol):
    """Turns text into phonemes and phonemes into ids.

    A frontend's results depend on nothing but its arguments: not on what it was given before.
    """

    vocab: Vocab

    def normalize(self, text: str) -> str:
        """Return the text as it is to be spoken."""

    def phoneticize(self, text: str) -> str:
        """Return the phonemes of a normalized text, in their text form.

        Raises:
            TextError: the text holds nothing to speak.
        """

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of phonemes, [n_phonemes] int32.

        Raises:
            TextError: a symbol is not in the vocabulary.
        """

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text form of ids: the inverse of `numericalize`."""

    def software(self) -> dict[str, str]:
        """Return the names and versions of what the results depend on, beside this package."""


def _espeak(**options: Any) -> Frontend:
    from tts_prep.preprocess.text.espeak import EspeakFrontend

    return EspeakFrontend(**options)


FRONTENDS: Final[Mapping[str, Callable[..., Frontend]]] = {"espeak": _espeak}
DEFAULT_FRONTEND: Final = "espeak"


def get_frontend(name: str = DEFAULT_FRONTEND, **options: Any) -> Frontend:
    """Make a frontend.

    Args:
        name: one of `FRONTENDS`.
        options: such as ``language="en-us"``.

    Raises:
        ConfigurationError: there is no frontend of that name, or an option has no such value.
    """
    if name not in FRONTENDS:
        near = difflib.get_close_matches(name, FRONTENDS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"frontend: expected one of {', '.join(FRONTENDS)}, found {name!r}{hint}")
    return FRONTENDS[name](**options)
