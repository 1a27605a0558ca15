"""``failures.jsonl``: one line for each utterance that was left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files import stored_file
from tts_prep.format.layout import FAILURES
from tts_prep.format.regular_files import open_regular

_MAX_LINE: Final = 1 << 20


@dataclass(frozen=True)
class LeftOut:
    """An utterance that was left out.

    Attributes:
        id: of the utterance, or the empty text where the row had none.
        where: the corpus file and line.
        stage: where it failed: ``corpus``, ``text``, ``audio``, ``alignment`` or ``feature``.
        reason: one line.
    """

    id: str
    where: str
    stage: str
    reason: str


def read_failures(store: Path, rows: int) -> Iterator[LeftOut]:
    """Yield the lines of ``failures.jsonl``, one after the other.

    Args:
        rows: how many lines the manifest says.

    Raises:
        CorruptStoreError: it is no file of the store, a line is not such an object or has more than 1 MiB, or there are
            more or fewer lines.
    """
    path = stored_file(store, FAILURES)
    number = 0
    try:
        with open_regular(path) as file:
            # One read at a time, however long a line is.
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
        raise CorruptStoreError(f"{path}: cannot be read ({error.strerror}); run 'tts-prep verify'") from error
    if rest or number != rows:
        raise CorruptStoreError(
            f"{path}: does not have the {rows:,} lines that the manifest says; run 'tts-prep verify'"
        )


def _parse(path: Path, number: int, line: bytes) -> LeftOut:
    where = f"{path}:{number}"
    if len(line) > _MAX_LINE:
        raise CorruptStoreError(f"{where}: a line of {len(line):,} bytes, no store has that")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptStoreError(f"{where}: not UTF-8 ({error.reason}); run 'tts-prep verify'") from error
    record = Record(where, parse_json(where, text))
    return LeftOut(*(record.text(key) for key in ("id", "where", "stage", "reason")))
