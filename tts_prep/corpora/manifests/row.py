"""Rows of manifests, before their columns have roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tts_prep.format.records.failures import Failure


@dataclass(frozen=True)
class Row:
    """A row of a manifest.

    Attributes:
        where: the file and line or row, such as ``train.jsonl:41``.
        values: column → text, number, or None.
        audio: the path of the recording if the container locates it; otherwise empty, and a column has the path.
        inside, channel: as in `tts_prep.preprocess.source_utterance.SourceUtterance`.
    """

    where: str
    values: Mapping[str, Any]
    audio: str = ""
    inside: str = ""
    channel: int | None = None


class Container(Protocol):
    """A manifest file that can be read repeatedly."""

    holds_audio: bool
    """Whether the rows have `Row.audio`."""

    arrays: tuple[str, ...]
    """Columns of lists of numbers, such as features, which the rows do not have."""

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order, the same ones on every call."""
