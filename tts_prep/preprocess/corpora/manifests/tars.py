"""Tar archives of recordings and their descriptions, as written by WebDataset and Emilia."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.manifests.row import Row
from tts_prep.preprocess.corpora.suffixes import AUDIO_SUFFIXES
from tts_prep.preprocess.recording_locations import byte_range

_TEXT = {".txt": "text", ".lab": "text", ".normalized.txt": "normalized_text"}
_MAX_DESCRIPTION = 1 << 22
_BLOCK = 512


class Tar:
    """A tar archive that is read in place: a recording is a byte range of the archive.

    Adjacent members whose names are equal up to the first dot form one row: a recording with a JSON object (``.json``)
    of columns, or with a text (``.txt``).
    """

    holds_audio = True
    arrays: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order.

        Raises:
            CorpusError: the file cannot be read, is compressed, or is damaged.
        """
        key, members = "", list[tarfile.TarInfo]()
        try:
            with self._path.open("rb") as file:
                for member in _members(file):
                    if not member.isfile():
                        continue
                    name = _key(member.name)
                    if name != key and members:
                        yield self._row(file, key, members)
                        members = []
                    key = name
                    members.append(member)
                if members:
                    yield self._row(file, key, members)
        except FileNotFoundError:
            raise CorpusError(f"{self._path}: no such file") from None
        except (OSError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CorpusError(f"{self._path}: cannot be read as an uncompressed tar archive ({reason})") from error

    def _row(self, file: BinaryIO, key: str, members: list[tarfile.TarInfo]) -> Row | Failure:
        where = f"{self._path.name}:{key}"
        values: dict[str, Any] = {"__key__": key}
        recordings = []
        for member in members:
            suffix = member.name[len(key) :].lower()
            if suffix in AUDIO_SUFFIXES:
                recordings.append(member)
                continue
            if suffix != ".json" and suffix not in _TEXT:
                continue
            if member.size > _MAX_DESCRIPTION:
                return Failure(key, where, "corpus", f"{where}: {member.name} has {member.size:,} bytes")
            file.seek(member.offset_data)
            data = file.read(member.size)
            try:
                if suffix in _TEXT:
                    values[_TEXT[suffix]] = data.decode("utf-8").strip()
                    continue
                description = json.loads(data)
                if not isinstance(description, dict):
                    raise TypeError("not an object")
                values.update(description)
            except (ValueError, TypeError, RecursionError) as error:
                return Failure(key, where, "corpus", f"{where}: {member.name} cannot be read ({error})")
        if len(recordings) != 1:
            names = ", ".join(member.name for member in members)
            reason = f"{where}: expected one recording, found {len(recordings)} among {names}"
            return Failure(key, where, "corpus", reason)
        (recording,) = recordings
        inside = byte_range(recording.offset_data, recording.size)
        return Row(where, values, str(self._path), inside)


def _members(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an uncompressed archive. A `tarfile.TarFile` would keep a kilobyte for every member."""
    size = os.fstat(file.fileno()).st_size
    # Compressed archives are refused, because their members are not byte ranges of the file.
    with tarfile.open(fileobj=file, mode="r:") as archive:
        position = 0
        while position < size:
            file.seek(position)
            # The end of the archive is marked by zeros, which some writers leave out.
            if not file.read(_BLOCK).strip(b"\0"):
                return
            file.seek(position)
            try:
                member = tarfile.TarInfo.fromtarfile(archive)
            except tarfile.HeaderError as error:
                raise tarfile.ReadError(f"{error} at byte {position:,}") from error
            if member.issparse():
                raise tarfile.ReadError(f"{member.name} is sparse; create the archive without --sparse")
            yield member
            has_data = not (member.islnk() or member.issym() or member.isdir() or member.isdev())
            position = member.offset_data + (-(-member.size // _BLOCK) * _BLOCK if has_data else 0)
    if position > size:
        raise tarfile.ReadError(f"the last {position - size:,} bytes are missing")


def _key(name: str) -> str:
    pure = PurePosixPath(name)
    return str(pure.parent / pure.name.partition(".")[0]) if pure.parent != PurePosixPath() else pure.name.split(".")[0]
