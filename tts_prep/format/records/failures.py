"""``failures.jsonl``: one line per failed utterance."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import CorruptStoreError, broken
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.paths import open_regular, stored_file
from tts_prep.format.layout import FAILURES

_MAX_LINE = 1 << 20


@dataclass(frozen=True)
class Failure:
    """An utterance or row that failed and is not in the store; one line of ``failures.jsonl``.

    Attributes:
        id: the id of the utterance, or an empty string if the row has none.
        where: the file and line in the corpus.
        stage: ``corpus``, ``text``, ``audio``, ``alignment`` or ``feature``.
        reason: one line on what was found and what was expected.
    """

    id: str
    where: str
    stage: str
    reason: str

    @classmethod
    def of_row(cls, identifier: str, where: str, what: str) -> "Failure":
        """Return the failure of a row of a corpus that cannot be read; its place begins the reason."""
        return cls(identifier, where, "corpus", f"{where}: {what}")


def read_failures(store: Path, rows: int) -> Iterator[Failure]:
    """Yield the lines of ``failures.jsonl``.

    Args:
        rows: the number of lines according to the manifest.

    Raises:
        CorruptStoreError: the file is not a regular file of the store, a line is malformed or longer than 1 MiB, or the
            number of lines is wrong.
    """
    path = stored_file(store, FAILURES)
    number = 0
    try:
        with open_regular(path) as file:
            # In blocks, so that memory is bounded even if a line is very long.
            rest = b""
            while block := file.read(1 << 16):
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    number += 1
                    if number > rows:
                        break
                    yield _parse(path, number, line)
                if number > rows or len(rest) > _MAX_LINE:
                    break
    except OSError as error:
        raise broken(f"{path}: cannot be read ({error.strerror})") from error
    if rest or number != rows:
        raise broken(f"{path}: expected {rows:,} lines as in the manifest")


def _parse(path: Path, number: int, line: bytes) -> Failure:
    where = f"{path}:{number}"
    if len(line) > _MAX_LINE:
        raise CorruptStoreError(f"{where}: a line of {len(line):,} bytes, more than the maximum of {_MAX_LINE:,}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise broken(f"{where}: not UTF-8 ({error.reason})") from error
    record = Record(where, parse_json(where, text))
    return Failure(*(record.text(key) for key in ("id", "where", "stage", "reason")))
