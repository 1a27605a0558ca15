"""What a look at the header of a recording gives."""

from __future__ import annotations

from dataclasses import dataclass
from io import FileIO


class BrokenRecordingError(ValueError):
    """A container is truncated, damaged, or holds several streams; the message says which."""


@dataclass(frozen=True)
class Stream:
    """The one stream of samples in a container that is whole.

    Attributes:
        container: its name in messages.
        n_samples: per channel, as the container says or as its frames were counted; None where libsndfile's count of
            them is right.
        padding: zeros to put after the file where libsndfile estimates fewer samples than there are.
        contents: what to decode in the place of the file, where the file's own header would mislead libsndfile.
    """

    container: str
    n_samples: int | None = None
    padding: int = 0
    contents: bytes | None = None


def read_from(file: FileIO, position: int) -> bytes:
    """Return a file's bytes from a position on."""
    file.seek(position)
    return file.read()


def several_streams(position: int) -> str:
    """Return what to say of a file with a second stream."""
    return f"another recording begins at byte {position:,}; write them to one stream or to a file each"
