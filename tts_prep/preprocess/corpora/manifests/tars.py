"""Tar archives of recordings and their descriptions, as written by WebDataset and Emilia."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tts_prep.errors import CorpusError
from tts_prep.preprocess.corpora.manifests.row import Row
from tts_prep.preprocess.corpora.utterance import Failure
from tts_prep.preprocess.recordings import byte_range

_AUDIO = {".wav", ".flac", ".mp3", ".ogg", ".opus", ".aiff", ".aif", ".au", ".caf", ".sph", ".w64"}
_TEXT = {".txt": "text", ".lab": "text", ".normalized.txt": "normalized_text"}
_MAX_DESCRIPTION = 1 << 22
# Older versions of Python keep about a kilobyte for every member.
_STREAM: dict[str, Any] = {"stream": True} if sys.version_info >= (3, 13) else {}


class Tar:
    """A tar archive that is read in place: a recording is a byte range of the archive.

    Adjacent members whose names are equal up to the first dot form one row: a recording with a JSON object (``.json``)
    of columns, or with a text (``.txt``).
    """

    holds_audio = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order.

        Raises:
            CorpusError: the file cannot be read, is compressed, or is damaged.
        """
        key, members = "", list[tarfile.TarInfo]()
        try:
            # Compressed archives are refused, because their members are not byte ranges of the file.
            with tarfile.open(self._path, "r:", **_STREAM) as archive:
                while member := archive.next():
                    if not _STREAM:
                        archive.members.clear()  # type: ignore[attr-defined]
                    if not member.isfile():
                        continue
                    name = _key(member.name)
                    if name != key and members:
                        yield self._row(archive, key, members)
                        members = []
                    key = name
                    members.append(member)
                if members:
                    yield self._row(archive, key, members)
        except FileNotFoundError:
            raise CorpusError(f"{self._path}: no such file") from None
        except (OSError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CorpusError(f"{self._path}: cannot be read as an uncompressed tar archive ({reason})") from error

    def _row(self, archive: tarfile.TarFile, key: str, members: list[tarfile.TarInfo]) -> Row | Failure:
        where = f"{self._path.name}:{key}"
        values: dict[str, Any] = {"__key__": key}
        recordings = []
        for member in members:
            suffix = member.name[len(key) :].lower()
            if suffix in _AUDIO:
                recordings.append(member)
                continue
            if suffix != ".json" and suffix not in _TEXT:
                continue
            if member.size > _MAX_DESCRIPTION:
                return Failure(key, where, "corpus", f"{where}: {member.name} has {member.size:,} bytes")
            file = archive.extractfile(member)
            data = file.read() if file else b""
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


def _key(name: str) -> str:
    pure = PurePosixPath(name)
    return str(pure.parent / pure.name.partition(".")[0]) if pure.parent != PurePosixPath() else pure.name.split(".")[0]
