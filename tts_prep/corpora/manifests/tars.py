"""Tar archives of recordings and their descriptions, as written by WebDataset and Emilia."""

import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tts_prep.corpora.manifests.rows import Row
from tts_prep.corpora.transcripts import AUDIO_SUFFIXES
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.recording_locations import byte_range

_TEXT = {".txt": "text", ".lab": "text", ".normalized.txt": "normalized_text"}
_MAX_DESCRIPTION = 1 << 22
_BLOCK = 512
_EXTENSIONS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_MAX_EXTENSION = 1 << 20
_MAX_EXTENSIONS = 16
"""The maximum number of additional headers of one member, and their size. A long name and a long link need two."""


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
        recordings, place = [], ""
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
                # Of several objects, it is not known which has a list.
                place = "" if place else byte_range(member.offset_data, member.size)
            except (ValueError, TypeError, RecursionError) as error:
                return Failure(key, where, "corpus", f"{where}: {member.name} cannot be read ({error})")
        if len(recordings) != 1:
            names = ", ".join(member.name for member in members)
            reason = f"{where}: expected one recording, found {len(recordings)} among {names}"
            return Failure(key, where, "corpus", reason)
        (recording,) = recordings
        inside = byte_range(recording.offset_data, recording.size)
        return Row(where, values, str(self._path), inside, place=place)


def _members(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an uncompressed archive.

    Only single headers are parsed by `tarfile`: its `TarFile` keeps a kilobyte for every member, and follows negative
    sizes, chains of thousands of headers, and long names of gigabytes. Compressed archives are refused, because their
    members are not byte ranges of the file.
    """
    size = os.fstat(file.fileno()).st_size
    position = n_extensions = 0
    of_all: dict[str, str] = {}
    of_next: dict[str, str] = {}
    while position < size:
        file.seek(position)
        block = file.read(_BLOCK)
        # The end of the archive is marked by zeros, which some writers leave out.
        if not block.strip(b"\0"):
            return
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {position:,}") from error
        member.offset, member.offset_data = position, position + _BLOCK
        if member.type in _EXTENSIONS:
            n_extensions += 1
            if n_extensions > _MAX_EXTENSIONS or not 0 <= member.size <= _MAX_EXTENSION:
                raise tarfile.ReadError(f"too many or too large headers at byte {position:,}")
            values = of_all if member.type == tarfile.XGLTYPE else of_next
            values.update(_extension(member.type, file.read(member.size), position))
            position = _end(member)
            continue
        _apply(member, {**of_all, **of_next})
        of_next, n_extensions = {}, 0
        yield member
        has_data = not (member.islnk() or member.issym() or member.isdir() or member.isdev())
        position = _end(member) if has_data else member.offset_data
    if position > size:
        raise tarfile.ReadError(f"the last {position - size:,} bytes are missing")


def _end(member: tarfile.TarInfo) -> int:
    return member.offset_data + -(-member.size // _BLOCK) * _BLOCK


def _extension(kind: bytes, data: bytes, position: int) -> dict[str, str]:
    """Return the fields that an additional header has for members: of GNU's long names, or of pax."""
    if kind == tarfile.GNUTYPE_LONGNAME:
        return {"path": data.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    values: dict[str, str] = {}
    # A record is its length in decimal, a space, and KEY=VALUE with a line end.
    while kind != tarfile.GNUTYPE_LONGLINK and data.strip(b"\0"):
        digits, _, _ = data[:20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = data[len(digits) + 1 : length].partition(b"=")
        if not equals or not value.endswith(b"\n") or length > len(data):
            raise tarfile.ReadError(f"invalid pax header at byte {position:,}")
        values[key.decode("utf-8", "surrogateescape")] = value[:-1].decode("utf-8", "surrogateescape")
        data = data[length:]
    return values


def _apply(member: tarfile.TarInfo, values: Mapping[str, str]) -> None:
    """Apply the fields of additional headers to a member.

    Raises:
        tarfile.ReadError: the member is sparse, or its size is not a number.
    """
    member.name = values.get("GNU.sparse.name", values.get("path", member.name)).rstrip("/")
    if member.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in values):
        raise tarfile.ReadError(f"{member.name} is sparse; create the archive without --sparse")
    size = values.get("size", "")
    if size.isascii() and size.isdigit() and len(size) < 20:
        member.size = int(size)
    elif size or member.size < 0:
        raise tarfile.ReadError(f"{member.name} at byte {member.offset:,} has an invalid size")


def _key(name: str) -> str:
    pure = PurePosixPath(name)
    return str(pure.parent / pure.name.partition(".")[0]) if pure.parent != PurePosixPath() else pure.name.split(".")[0]
