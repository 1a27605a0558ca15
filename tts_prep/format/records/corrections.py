"""``corrections.jsonl``: the rows of a corpus that a store has otherwise, or not at all."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.atomic import replacing, writing
from tts_prep.format.files.paths import read_text, stored_file
from tts_prep.format.layout import CORRECTIONS

_MAX_BYTES: Final = 1 << 28
_LEFT_OUT: Final = "no"


@dataclass(frozen=True)
class Correction:
    """What a store has otherwise than its corpus for one row.

    Attributes:
        id: the id of the row.
        text, speaker: the corrected transcript and speaker; empty if they are those of the corpus.
        is_left_out: whether the store does not have the row.
    """

    id: str
    text: str = ""
    speaker: str = ""
    is_left_out: bool = False


def corrections_text(corrections: Iterable[Correction]) -> str:
    """Return the contents of ``corrections.jsonl``."""
    return "".join(json.dumps(_as_dict(correction), ensure_ascii=False) + "\n" for correction in corrections)


def _as_dict(correction: Correction) -> dict[str, str]:
    keep = _LEFT_OUT if correction.is_left_out else ""
    values = {"id": correction.id, "keep": keep, "text": correction.text, "speaker": correction.speaker}
    return {key: value for key, value in values.items() if value}


def write_corrections(store: Path, corrections: Iterable[Correction]) -> None:
    """Write ``corrections.jsonl`` atomically, unless it exists with the same contents; without any, remove it.

    Raises:
        WriteError: the file cannot be written.
    """
    path, data = store / CORRECTIONS, corrections_text(corrections).encode()
    if not data:
        with writing(path):
            path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_bytes() != data:
        with replacing(path) as partial:
            partial.write_bytes(data)


def read_corrections(store: Path) -> tuple[Correction, ...]:
    """Read ``corrections.jsonl``; return nothing if there is no such file.

    Raises:
        CorruptStoreError: it is broken.
    """
    path = store / CORRECTIONS
    if not path.is_symlink() and not path.exists():
        return ()
    # Texts can contain other line breaks than \n.
    lines = read_text(stored_file(store, CORRECTIONS), _MAX_BYTES).split("\n")
    if lines.pop() or not lines:
        raise CorruptStoreError(f"{path}: expected lines that end with a line break")
    return tuple(_parse(f"{path}:{number}", line) for number, line in enumerate(lines, 1))


def _parse(where: str, line: str) -> Correction:
    record = Record(where, parse_json(where, line))
    found = {key: record.text(key) if key in record else "" for key in ("keep", "text", "speaker")}
    if found["keep"] not in ("", _LEFT_OUT):
        raise record.fault("keep", f"'{_LEFT_OUT}'")
    return Correction(record.text("id"), found["text"], found["speaker"], bool(found["keep"]))
