"""What rooms add to ``tts-prep add``: options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tts_prep import doors
from tts_prep.preprocess.option import Option


@dataclass(frozen=True)
class Addition:
    """Options of ``tts-prep add``.

    Attributes:
        options: the options.
        add: adds to a store what an option asks for; None for options of features, which get their values.
    """

    options: tuple[Option, ...]
    add: Callable[[Path, Mapping[str, Any]], None] | None = None


def additions() -> Iterator[Addition]:
    """Yield what the rooms and other packages bring."""
    for row in (*doors.rows("additions").values(), *doors.others("additions").values()):
        yield doors.load("additions", row, "addition", lambda found: isinstance(found, Addition), "an Addition")
