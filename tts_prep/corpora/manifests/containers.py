"""The containers of manifests: which one a file is, by its name and first lines, and the rows of tables and tars."""

import csv
import json
import os
import shlex
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from tts_prep.corpora.manifests.json_lines import MAX_LINE, Container, JsonLines, Lhotse, Row, json_objects, open_text
from tts_prep.corpora.transcripts import AUDIO_SUFFIXES
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import of_cell
from tts_prep.preprocess.source_utterance import byte_range, table_cell
from tts_prep.tables.process import ask_table

_FOLDERS = (
    *("metadata.jsonl", "metadata.csv", "metadata.parquet"),
    # save_to_disk writes data-*.arrow; cache-*.arrow beside them are results of datasets' functions.
    *("data-*.arrow", "*.arrow"),
    *("data/*.parquet", "*.parquet", "*.tar"),
)
"""Manifests in a folder: of an audiofolder, ``save_to_disk``, a clone from the hub, or archives."""


_BINARY: Final = (".parquet", ".arrow")
_JSON: Final = (".jsonl", ".json", ".ndjson")
_TEXTS: Final = (".csv", ".tsv", ".txt", ".psv")


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the given manifest files, with folders replaced by the manifests in them, sorted by name.

    Raises:
        CorpusError: a path does not exist, or a folder has no manifest.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        manifests = _manifests(path)
        if not manifests:
            below = [folder.name for folder in sorted(path.iterdir()) if folder.is_dir() and _manifests(folder)]
            hint = f"give {', '.join(below)}" if below else f"expected one of {', '.join(_FOLDERS)}"
            raise CorpusError(f"{path}: no manifest in this folder; {hint}")
        files.extend(manifests)
    for path in files:
        if not path.exists():
            raise CorpusError(f"{path}: no such file")
        if not path.is_file():
            raise CorpusError(f"{path}: expected a regular file")
    return files


def _manifests(folder: Path) -> list[Path]:
    return next(filter(None, (sorted(folder.glob(pattern)) for pattern in _FOLDERS)), [])


def open_containers(files: Sequence[Path], audio: str | None) -> list[tuple[Path, Container]]:
    """Open manifest files.

    Args:
        audio: the column of the recordings, or None if the user did not set it.

    Raises:
        CorpusError: a file has an unknown format, or cannot be read.
    """
    recordings = [path for path in files if _is_json(path) and _has(path, "sources")]
    if len(recordings) > 1:
        raise CorpusError(
            f"{recordings[1]}: expected at most one manifest of lhotse recordings, found {len(recordings)}"
        )
    containers = [
        (path, _open(path, recordings[0] if recordings else None, audio)) for path in files if path not in recordings
    ]
    if not containers:
        raise CorpusError(f"{files[0]}: recordings without texts; add the manifest of the supervisions")
    return containers


def _open(path: Path, recordings: Path | None, audio: str | None) -> Container:
    if _suffix(path) == ".tar":
        return Tar(path)
    is_lhotse = _is_json(path) and (
        _has(path, "supervisions") or (_has(path, "recording_id") and recordings is not None)
    )
    return Lhotse(path, recordings) if is_lhotse else open_table(path, audio)


def open_table(path: Path, audio: str | None = None) -> Container:
    """Open a table: CSV, TSV, JSON lines, parquet or arrow."""
    suffix = _suffix(path)
    if suffix in _BINARY:
        return ParquetFile(path, audio)
    if suffix in _TEXTS:
        return Table(path)
    if _is_json(path):
        return JsonLines(path)
    is_cues = suffix in (".srt", ".vtt")
    hint = f"; 'tts-prep folder {shlex.quote(str(path.parent))} STORE' reads subtitles beside recordings" * is_cues
    raise CorpusError(
        f"{path}: expected .jsonl, .json, .csv, .tsv, .parquet, .arrow or .tar (.jsonl.gz, .csv.gz){hint}"
    )


def _suffix(path: Path) -> str:
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def _is_json(path: Path) -> bool:
    return any(suffix in _JSON for suffix in path.suffixes[-2:])


def _has(path: Path, key: str) -> bool:
    """Return whether the first object of a file has a key."""
    first = next((value for _, value in islice(json_objects(path), 10) if isinstance(value, dict)), {})
    return key in first


def table_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the values of each row of a table: CSV, TSV, JSON lines, parquet or arrow.

    An apostrophe that keeps a spreadsheet from taking a cell of CSV or TSV for a formula is removed.

    Raises:
        CorpusError: the file cannot be read, or a row is damaged.
    """
    is_csv = any(suffix in (".csv", ".tsv") for suffix in path.suffixes[-2:])
    for file in find_files([path]):
        for found in open_table(file).rows():
            if isinstance(found, Failure):
                raise CorpusError(found.reason)
            values = {**found.values, **({"audio": found.audio} if found.audio else {})}
            if is_csv:
                values = {name: of_cell(value) if isinstance(value, str) else value for name, value in values.items()}
            yield found.where, values


_SEPARATORS = ("\t", "|", ",", ";")
_QUOTING = ",;"
_MAX_LINES = 1000
"""The maximum number of lines of one row, which limits the effect of an unclosed quotation mark."""


class Table(Container):
    """A file with the names of the columns in the first line.

    Fields separated by commas or semicolons may be quoted as in CSV. With tabs and bars, quotes are part of the text.
    """

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order.

        Raises:
            CorpusError: the file cannot be read, or has no header.
        """
        lines = ((where, line) for where, line, _ in open_text(self._path))
        _, header = next(lines, ("", ""))
        if isinstance(header, Failure) or not header.strip():
            raise CorpusError(f"{self._path}: expected the names of the columns in the first line")
        separator = max(_SEPARATORS, key=header.count)
        try:
            names = _fields([header], separator)
        except csv.Error as error:
            raise CorpusError(f"{self._path}: the first line is no header of a table ({error})") from error
        if len(set(names)) != len(names):
            raise CorpusError(
                f"{self._path}: a column is repeated in the header: {', '.join(names)}; is the first line a recording?"
                " 'tts-prep filelist' and 'ljspeech' read lists without a header"
            )
        for where, line in lines:
            if isinstance(line, Failure):
                yield line
            elif line.strip():
                yield from _row(where, _RowLines(line, lines), names, separator)


class _RowLines:
    """A line, and the lines behind it that a quoted field goes on in, which are taken as they are asked for.

    Attributes:
        count: the number of lines so far.
        failures: the line that cannot be read, if it ended the row.
    """

    def __init__(self, line: str, following: Iterator[tuple[str, str | Failure]]) -> None:
        self._line, self._following = line, following
        self.count = 1
        self.failures: list[Failure] = []

    def __iter__(self) -> Iterator[str]:
        length = len(self._line)
        yield f"{self._line}\n"
        while self.count < _MAX_LINES and length < MAX_LINE:
            _, line = next(self._following, ("", None))
            if not isinstance(line, str):
                self.failures += [line] if line else []
                return
            self.count += 1
            length += len(line)
            yield f"{line}\n"


def _row(where: str, lines: _RowLines, names: list[str], separator: str) -> Iterator[Row | Failure]:
    """Yield a row, or why it is none, and the line that cannot be read if it goes on in one."""
    try:
        fields = _fields(lines, separator)
    except csv.Error as error:
        several = f"; {lines.count:,} lines were taken for it, because of a quotation mark" if lines.count > 1 else ""
        yield Failure.of_row("", where, f"not a row of a table ({error}){several}")
    else:
        if len(fields) == len(names):
            yield Row(where, dict(zip(names, fields, strict=True)))
        else:
            reason = f"expected {len(names)} fields separated by {separator!r}, found {len(fields)}"
            yield Failure.of_row("", where, reason)
    yield from lines.failures


def _fields(lines: Iterable[str], separator: str) -> list[str]:
    # The reader takes a further line only within quotes, so it decides which lines are one row.
    reader = csv.reader(
        lines, delimiter=separator, quoting=csv.QUOTE_MINIMAL if separator in _QUOTING else csv.QUOTE_NONE, strict=True
    )
    return [field.strip() for field in next(reader)]


class ParquetFile(Container):
    """A parquet or arrow file, read by row groups or record batches, without the bytes of recordings.

    Another process reads it, because a damaged file can crash the library.

    Raises:
        CorpusError: the file cannot be read.
        MissingPackageError: pyarrow is not installed.
    """

    def __init__(self, path: Path, audio: str | None = None) -> None:
        """Open a file.

        Args:
            audio: the column of the recordings; default: the first column of recordings as bytes.
        """
        super().__init__(path)
        schema, _ = ask_table(path, "schema", audio)
        self._audio: str = schema["audio"]
        self._n_groups: int = schema["groups"]
        self.arrays = tuple(schema["arrays"])
        self.lists: dict[str, str] = schema["lists"]
        self.holds_audio = bool(self._audio)

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        number = 0
        for group in range(self._n_groups):
            row, more = 0, True
            while more:
                found, _ = ask_table(self._path, "rows", self._audio, group, row, 50 if self.lists else 2000)
                more = found["more"]
                for position, (is_held, path) in enumerate(zip(found["held"], found["paths"], strict=True)):
                    number += 1
                    where, place = f"{self._path.name}:{number}", table_cell(group, row, self._audio, found["size"])
                    values = {name: cells[position] for name, cells in found["columns"].items()}
                    if not self._audio:
                        yield Row(where, values, place=place)
                    elif is_held:
                        yield Row(where, values, str(self._path), place, place=place)
                    elif path:
                        yield Row(where, values, path, place=place)
                    else:
                        yield Failure.of_row("", where, f"'{self._audio}' has neither bytes nor a path")
                    row += 1


_TEXT = {".txt": "text", ".lab": "text", ".normalized.txt": "normalized_text"}
_MAX_DESCRIPTION = 1 << 22
_BLOCK = 512
_EXTENSIONS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_MAX_EXTENSION = 1 << 20
_MAX_EXTENSIONS = 16
"""The maximum number of additional headers of one member, and their size. A long name and a long link need two."""


class Tar(Container):
    """A tar archive that is read in place: a recording is a byte range of the archive.

    Adjacent members whose names are equal up to the first dot form one row: a recording with a JSON object (``.json``)
    of columns, or with a text (``.txt``).
    """

    holds_audio = True

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
                return Failure.of_row(key, where, f"{member.name} has {member.size:,} bytes")
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
                return Failure.of_row(key, where, f"{member.name} cannot be read ({error})")
        if len(recordings) != 1:
            names = ", ".join(member.name for member in members)
            return Failure.of_row(key, where, f"expected one recording, found {len(recordings)} among {names}")
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
