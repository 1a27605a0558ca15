"""One row of a manifest, before its columns have a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tts_prep.preprocess.corpora.utterance import Failure


@dataclass(frozen=True)
class Row:
    """A row with its values by column.

    Attributes:
        where: the file and line or row, such as ``train.jsonl:41``.
        values: column → text, number, or None.
        audio: path of the recording, where the container itself holds the recordings; else the column says it.
        inside, channel: as in `tts_prep.preprocess.corpora.utterance.Utterance`.
    """

    where: str
    values: Mapping[str, Any]
    audio: str = ""
    inside: str = ""
    channel: int | None = None


class Container(Protocol):
    """A manifest file that is open for reading as often as needed."""

    holds_audio: bool
    """Whether rows say themselves where their recording is; if not, a column does."""

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order; the same ones at every call."""
