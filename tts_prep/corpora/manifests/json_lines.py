"""Rows of manifests before their columns have roles: lines of large files, JSON lines, and arrays of objects."""

import codecs
import gzip
import itertools
import json
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.source_utterance import byte_range


@dataclass(frozen=True)
class Row:
    """A row of a manifest.

    Attributes:
        where: the file and line or row, such as ``train.jsonl:41``.
        values: column → text, number, or None.
        audio: the path of the recording if the container locates it; otherwise empty, and a column has the path.
        place: where the values are, as `inside` is; empty if they are not read from there again.
        inside, channel: as in `tts_prep.preprocess.source_utterance.SourceUtterance`.
    """

    where: str
    values: Mapping[str, Any]
    audio: str = ""
    inside: str = ""
    channel: int | None = None
    place: str = ""


class Container(ABC):
    """A manifest file that can be read repeatedly.

    Attributes:
        holds_audio: whether the rows have `Row.audio`.
        arrays: columns of lists of lists of lists of numbers, which the rows do not have.
    """

    holds_audio = False
    arrays: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    @abstractmethod
    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order, the same ones on every call."""


_MAX_RATIO: Final = 200
"""How many times longer a list can be than its file. Lists of recordings shrink to a third or a tenth, what holds one
byte a million times a thousandfold."""

_ALWAYS: Final = 1 << 26
"""The bytes that are read of any file."""

MAX_LINE: Final = 1 << 24
"""The maximum length of a line in bytes. The longest rows of common corpora have several hundred thousand."""


def open_text(path: Path) -> Iterator[tuple[str, str | Failure, int]]:
    """Yield the lines of a UTF-8 file without line ends: (location, line or failure, its first byte).

    The first byte is -1 in a compressed file.

    A line that is not UTF-8, or longer than 16 MiB, is yielded as a failure.

    Raises:
        CorpusError: the file cannot be read, or gzip's checksum does not match,
            or it expands to more than 200 times its size.
    """
    number = 0
    try:
        with opened_text(path) as file:
            is_plain = not isinstance(file, gzip.GzipFile)
            for number, line in enumerate(_lines(file, path), 1):
                where = f"{path.name}:{number}"
                if line is None:
                    yield where, Failure.of_row("", where, f"longer than {MAX_LINE:,} bytes"), -1
                    continue
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                try:
                    yield where, line.rstrip(b"\r\n").decode("utf-8"), file.tell() - len(line) if is_plain else -1
                except UnicodeDecodeError as error:
                    found = f"found byte 0x{line[error.start]:02x} at column {error.start + 1}"
                    yield where, Failure.of_row("", where, f"expected UTF-8, {found}"), -1
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{path}: cannot be read after line {number:,} ({reason})") from error


def _lines(file: gzip.GzipFile | BufferedReader, path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file with their ends; None for one that is too long."""
    left = _MAX_RATIO * path.stat().st_size + _ALWAYS
    while line := file.readline(MAX_LINE):
        left -= len(line)
        is_cut = False
        while len(line) == MAX_LINE and not line.endswith(b"\n") and left >= 0:
            is_cut, line = True, file.readline(MAX_LINE)
            left -= len(line)
        if left < 0:
            raise CorpusError(f"{path}: expands to more than {_MAX_RATIO} times its size; is it damaged?")
        yield None if is_cut else line


def opened_text(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file, compressed by gzip or not."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if compressed else path.open("rb")


_CHUNK: Final = 1 << 20
_MAX_OBJECT: Final = 1 << 28
"""The maximum length of an object in characters. A recording of GigaSpeech has a few million."""
_SPACE: Final = re.compile(r"[\s,]*")


def json_array(path: Path, key: str = "") -> Iterator[tuple[str, dict[str, Any] | Failure]]:
    """Yield the objects of an array, as pairs (location, object or failure).

    The array is the document, or the value of a key of the object that the document is.

    Raises:
        CorpusError: the file cannot be read, or has no such array.
    """
    text = _Text(path)
    start = re.compile(rf'"{re.escape(key)}"\s*:\s*\[' if key else r"\s*\[")
    found = start.search(text.buffer) if key else start.match(text.buffer)
    if not found:
        raise CorpusError(f"{path}: expected a JSON {f'object with the array {key!r}' if key else 'array'}")
    text.position = found.end()
    decoder = json.JSONDecoder()
    number = 0
    while text.next_character() not in ("]", ""):
        number += 1
        where = f"{path.name}:[{number}]"
        try:
            value = text.decoded(decoder)
        except (ValueError, RecursionError) as error:
            # Without its end, the next object is not found.
            yield where, Failure.of_row("", where, f"not JSON ({error}); the rest of the file is not read")
            return
        yield where, object_or_failure(where, value)
    if text.next_character() != "]":
        where = f"{path.name}:[{number + 1}]"
        yield where, Failure.of_row("", where, "the array has no end; the file is truncated")


def object_or_failure(where: str, value: Any) -> dict[str, Any] | Failure:
    """Return a JSON value that is an object, and a failure for any other."""
    if isinstance(value, dict):
        return value
    return Failure.of_row("", where, f"expected a JSON object, found a {type(value).__name__}")


class _Text:
    """The part of a UTF-8 file that is being parsed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._chunks = self._read()
        self.buffer = next(self._chunks, "")
        self.position = 0

    def next_character(self) -> str:
        """Skip white space and commas, and return the next character; an empty string at the end."""
        while True:
            match = _SPACE.match(self.buffer, self.position)
            self.position = match.end() if match else self.position
            if self.position < len(self.buffer) or not self._more():
                return self.buffer[self.position : self.position + 1]

    def decoded(self, decoder: json.JSONDecoder) -> Any:
        """Return the next JSON value.

        Raises:
            ValueError: there is none, or it is too long.
        """
        while True:
            try:
                value, self.position = decoder.raw_decode(self.buffer, self.position)
            except ValueError as error:
                rest = len(self.buffer) - self.position
                if rest > _MAX_OBJECT:
                    raise ValueError(f"longer than {_MAX_OBJECT:,} characters") from error
                # As much again as there is, so that an object is not parsed once for each chunk.
                if not self._more(1 + rest // _CHUNK):
                    raise
                continue
            return value

    def _more(self, chunks: int = 1) -> bool:
        """Read more; return whether there was any."""
        read = "".join(itertools.islice(self._chunks, chunks))
        self.buffer, self.position = self.buffer[self.position :] + read, 0
        return bool(read)

    def _read(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            with opened_text(self._path) as file:
                while data := file.read(_CHUNK):
                    yield decoder.decode(data) or " "
                yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise CorpusError(f"{self._path}: expected UTF-8 ({error.reason})") from error
        except (OSError, EOFError) as error:
            raise CorpusError(f"{self._path}: cannot be read ({error})") from error


def json_objects(path: Path) -> Iterator[tuple[str, dict[str, Any] | Failure]]:
    """Yield the JSON objects of a file, compressed by gzip or not, as pairs (location, object or failure).

    The file has one object per line, or is one array of objects.

    Raises:
        CorpusError: the file cannot be read.
    """
    for where, value, _ in _placed_objects(path):
        yield where, value


def _placed_objects(path: Path) -> Iterator[tuple[str, dict[str, Any] | Failure, str]]:
    """Yield the objects of a file, and the place of each; that of an object in an array or compressed file is empty."""
    if _is_array(path):
        yield from ((*found, "") for found in json_array(path))
        return
    for where, line, first in open_text(path):
        if isinstance(line, Failure):
            yield where, line, ""
            continue
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield where, Failure.of_row("", where, f"not JSON ({error})"), ""
            continue
        place = byte_range(first, len(line.encode())) if first >= 0 else ""
        yield where, object_or_failure(where, value), place


def _is_array(path: Path) -> bool:
    """Return whether a file begins with an array of objects."""
    try:
        with opened_text(path) as file:
            first = file.read(1000)
    except (OSError, EOFError, zlib.error):
        return False
    return re.match(rb"(\xef\xbb\xbf)?\s*\[\s*\{", first) is not None


class JsonLines(Container):
    """A file with one JSON object per line, or an array of them."""

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        for where, value, place in _placed_objects(self._path):
            yield value if isinstance(value, Failure) else Row(where, value, place=place)


@dataclass(frozen=True)
class _Span:
    """A segment of a recording and its transcript."""

    id: str
    recording: Mapping[str, Any]
    channel: Any
    start: float
    end: float
    supervision: Mapping[str, Any]


class Lhotse(Container):
    """Cuts (``cuts.jsonl.gz``), or supervisions and recordings.

    A cut with one supervision is one utterance of the cut's length. In other cuts, each supervision is an utterance.

    Args:
        path: the manifest of the cuts or the supervisions.
        recordings: the manifest of the recordings that supervisions refer to.
    """

    holds_audio = True

    def __init__(self, path: Path, recordings: Path | None = None) -> None:
        super().__init__(path)
        self._recordings = {
            str(value.get("id")): value
            for _, value in (json_objects(recordings) if recordings else ())
            if not isinstance(value, Failure)
        }

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        for where, value in json_objects(self._path):
            if isinstance(value, Failure):
                yield value
                continue
            try:
                for span in self._spans(value):
                    yield _row_of_span(where, span)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                identifier = str(value.get("id", ""))
                what = f"no {error}" if isinstance(error, KeyError) else error
                yield Failure.of_row(identifier, where, f"not a valid cut or supervision ({what})")

    def _spans(self, value: Mapping[str, Any]) -> Iterator[_Span]:
        if "recording_id" in value:
            recording = self._recordings.get(value["recording_id"])
            if recording is None:
                raise ValueError(f"no recording {value['recording_id']!r}; add the manifest of the recordings")
            start = float(value["start"])
            yield _Span(value["id"], recording, value.get("channel"), start, start + float(value["duration"]), value)
            return
        if value.get("type", "MonoCut") not in ("MonoCut", "Cut", "MultiCut"):
            raise ValueError(f"a {value['type']} has several recordings")
        recording, supervisions = value.get("recording"), value.get("supervisions") or []
        if not recording:
            raise ValueError("the cut has no recording")
        begin, channel = float(value["start"]), value.get("channel")
        if len(supervisions) <= 1:
            end = begin + float(value["duration"])
            yield _Span(value["id"], recording, channel, begin, end, supervisions[0] if supervisions else {})
            return
        for supervision in supervisions:
            start = begin + float(supervision["start"])
            end = start + float(supervision["duration"])
            yield _Span(supervision["id"], recording, channel, start, end, supervision)


def _row_of_span(where: str, span: _Span) -> Row | Failure:
    recording = span.recording
    if recording.get("transforms"):
        reason = f"the recording has transforms ({len(recording['transforms'])}), which only lhotse applies"
        return Failure.of_row(str(span.id), where, reason)
    channels = span.channel if isinstance(span.channel, list) else [span.channel]
    sources = [
        source
        for source in recording["sources"]
        if span.channel is None or set(channels) & set(source.get("channels", channels))
    ]
    if len(sources) != 1 or sources[0].get("type") != "file":
        kinds = ", ".join(str(source.get("type")) for source in sources) or "none"
        return Failure.of_row(str(span.id), where, f"expected one file with the recording, found {kinds}")
    (source,) = sources
    supervision = span.supervision
    is_complete = span.start == 0 and abs(span.end - float(recording.get("duration", span.end))) < 1e-3
    values: dict[str, Any] = {
        "id": span.id,
        "text": supervision.get("text", ""),
        "speaker": supervision.get("speaker"),
        "language": supervision.get("language"),
        "gender": supervision.get("gender"),
        **(supervision.get("custom") or {}),
        "start": None if is_complete else span.start,
        "end": None if is_complete else span.end,
    }
    channel = None
    if len(channels) == 1 and isinstance(channels[0], int) and len(source.get("channels", [0])) > 1:
        channel = source["channels"].index(channels[0])
    return Row(where, values, str(source["source"]), channel=channel)
