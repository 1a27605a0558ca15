"""The rows that corpus readers yield, and where their recordings are: a file, bytes of one, or a cell of a table."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Any, Final

from tts_prep import doors
from tts_prep.errors import AudioError
from tts_prep.format.files.paths import open_regular
from tts_prep.quantities import ShownRecord

ANONYMOUS: Final = "0"
"""The speaker of a corpus without speakers, as in StyleTTS2's lists."""


@dataclass(frozen=True, repr=False)
class SourceUtterance(ShownRecord):
    """A recording, or a segment of one, and its transcript.

    Attributes:
        id: the id, unique in the corpus.
        text: the transcript.
        audio: the path of the recording, relative to the root of the corpus, or absolute if the corpus has it so; empty
            for a row without one, which has arrays alone and is as long as ``end``.
        where: the file and line that the utterance was read from, such as ``metadata.csv:41``.
        speaker: the name or id of the speaker.
        meta: additional columns of the index, name → text or number. ``language``, a code such as ``en-us``, selects
            the language of frontends that support several.
        normalized: whether the text is normalized: numbers and abbreviations are spelled out.
        start, end: the segment of the recording in seconds. If ``end`` is None, it is the end of the recording.
        inside: the location of the recording inside the file ``audio``, in the format of
            `tts_prep.preprocess.source_utterance`; empty if the file is the recording.
        channel: the channel of a recording with several, from 0; None selects the one of the settings.
        alignment: the SHA-256 of its alignment if the configuration uses alignments, otherwise empty.
        lists: what stands for the values of its arrays in the files of the corpus, array name → entry, as the door
            ``lists`` reads it; another value has another entry.
        lists_at: where these values are.
        then: what follows this recording, if decisions have merged rows: fields of other recordings, and ``pause``, the
            seconds of silence before each.
    """

    id: str
    text: str
    audio: str
    where: str
    speaker: str
    meta: Mapping[str, str | float] = field(default_factory=dict)
    normalized: bool = False
    start: float = 0.0
    end: float | None = None
    inside: str = ""
    channel: int | None = None
    alignment: str = ""
    lists: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists_at: str = ""
    then: Sequence[Mapping[str, Any]] = ()

    @property
    def is_whole_file(self) -> bool:
        """Whether the recording is a file of its own, all of which belongs to the row."""
        return bool(self.audio) and (self.start, self.end) == (0, None) and not (self.inside or self.then)

    @property
    def pieces(self) -> list[tuple[float, "SourceUtterance"]]:
        """The recordings of the row, each as a row of its own, and the seconds of silence before it."""
        rest = ({**piece} for piece in self.then)
        return [
            (0.0, replace(self, then=())),
            *((piece.pop("pause"), replace(self, then=(), **piece)) for piece in rest),
        ]

    @property
    def language(self) -> str | None:
        """The language of the text, or None if the corpus does not specify it."""
        return str(self.meta["language"]) if self.meta.get("language") else None


def byte_range(offset: int, size: int) -> str:
    """Return the location of a recording that is a byte range of a file, such as a member of a tar archive."""
    return f"bytes {offset} {size}"


def table_cell(group: int, row: int, column: str, size: int) -> str:
    """Return the location of a recording that is a cell of a parquet or arrow file.

    Args:
        group: the row group of a parquet file, or the record batch of an arrow file.
        row: the row in the group.
        column: the name of the column; the field of a struct follows after a dot.
        size: the approximate size of the recording in bytes.
    """
    return f"cell {group} {row} {size} {column}"


def size_inside(inside: str) -> int:
    """Return the size of a recording inside a file, in bytes."""
    kind, *numbers = inside.split(" ", 4)
    return int(numbers[1] if kind == "bytes" else numbers[2])


def place_inside(inside: str) -> tuple[int, int] | None:
    """Return the first byte and the end of a recording that is a byte range of a file; None of another one."""
    kind, _, rest = inside.partition(" ")
    if kind != "bytes":
        return None
    offset, size = map(int, rest.split(" "))
    return offset, offset + size


def open_recording(path: Path, inside: str) -> FileIO:
    """Extract a recording from inside a file into an unnamed temporary file; errors as in `read_inside`."""
    data = read_inside(path, inside)
    # Decoders and checks need a file descriptor.
    recording = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    recording.write(data)
    recording.seek(0)
    return recording


def read_inside(path: Path, inside: str) -> bytes:
    """Return the bytes of a recording inside a file.

    Raises:
        OSError: the file cannot be read.
        AudioError: there is no recording at this location.
    """
    if place := place_inside(inside):
        offset, size = place[0], place[1] - place[0]
        with open_regular(path) as file:
            file.seek(offset)
            data: bytes = file.read(size)
        if len(data) != size:
            raise AudioError(f"{path.name}: truncated, expected {size:,} bytes at {offset:,}, found {len(data):,}")
        return data
    _, group, row, _, column = inside.split(" ", 4)
    cell: bytes = doors.need("inside", "cell")(path, int(group), int(row), column)
    return cell
