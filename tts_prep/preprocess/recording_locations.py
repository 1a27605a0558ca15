"""Locations of recordings: a file, a byte range of a file, or a cell of a parquet or arrow file."""

import tempfile
from io import FileIO
from pathlib import Path

from tts_prep import doors
from tts_prep.errors import AudioError
from tts_prep.format.files.regular_files import open_regular


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
