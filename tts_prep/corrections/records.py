"""``corrections.jsonl``: the rows of a corpus that a store has otherwise, or not at all."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from tts_prep.errors import CorruptStoreError
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.atomic import keep_contents
from tts_prep.format.files.paths import read_text, stored_file
from tts_prep.format.layout import CORRECTIONS

_MAX_BYTES: Final = 1 << 28
_LEFT_OUT: Final = "no"
_MAX_REGIONS: Final = 100
_MAX_PAUSE: Final = 10
_SECONDS: Final = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
_REGION = re.compile(f"({_SECONDS})-({_SECONDS})")
_MERGE = re.compile(f"({_SECONDS}) (.+)", re.DOTALL)


def parse_regions(text: str) -> tuple[tuple[float, float], ...]:
    """Return the regions of ``START-END START-END``: seconds from the start of the row's recording, ascending.

    Raises:
        ValueError: the text is something else.
    """
    found = [_REGION.fullmatch(part) for part in text.split(" ")] if text else []
    regions = tuple((float(match[1]), float(match[2])) for match in found if match)
    ends = [end for region in regions for end in region]
    if (
        len(regions) < len(found)
        or len(regions) > _MAX_REGIONS
        or ends != sorted(ends)
        or any(a == b for a, b in regions)
    ):
        expected = f"1 to {_MAX_REGIONS} regions in ascending order, such as '0.5-3.25'"
        raise ValueError(f"regions: expected {expected}, found '{text[:60]}'")
    return regions


def parse_merge(text: str) -> tuple[float, str]:
    """Return the pause in seconds and the id of ``PAUSE ID``; an empty id for an empty text.

    Raises:
        ValueError: the text is something else.
    """
    found = _MERGE.fullmatch(text)
    if text and not (found and float(found[1]) <= _MAX_PAUSE):
        expected = f"0 to {_MAX_PAUSE} seconds of pause and an id, such as '0.3 ID'"
        raise ValueError(f"merge: expected {expected}, found '{text[:60]}'")
    return (float(found[1]), found[2]) if found else (0.0, "")


def texts_of_regions(text: str, regions: str) -> tuple[str, ...]:
    """Return the text of each region: where there are several, what ``|`` separates, or nothing of an empty text.

    Raises:
        ValueError: the regions are malformed, or the text has another number of parts.
    """
    n = len(parse_regions(regions))
    parts = tuple(part.strip() for part in text.split("|")) if n > 1 and text else (text,) * max(1, n)
    if len(parts) != n > 1 or (text and not all(parts)):
        raise ValueError(f"text: expected the texts of {n} regions, separated by '|', found '{text[:60]}'")
    return parts


@dataclass(frozen=True)
class Correction:
    """What a store has otherwise than its corpus for one row.

    Attributes:
        id: the id of the row.
        text, speaker: the corrected transcript and speaker; empty if they are those of the corpus.
        is_left_out: whether the store does not have the row.
        regions: what of its recording the store has, see `parse_regions`; several are rows of their own.
        merge: the row that follows it in its recording, see `parse_merge`.
    """

    id: str
    text: str = ""
    speaker: str = ""
    is_left_out: bool = False
    regions: str = ""
    merge: str = ""

    def check(self) -> None:
        """Raise a ValueError if ``regions`` or ``merge`` is malformed, or does not fit the rest."""
        texts = texts_of_regions(self.text, self.regions)
        if parse_merge(self.merge)[1] and len(texts) > 1:
            raise ValueError("merge: a row that is cut cannot be merged with the next")

    @property
    def placed(self) -> dict[str, tuple[float, float]]:
        """The region of each row that this one becomes: itself, or ``ID-1``, ``ID-2``, … if it is cut."""
        regions = parse_regions(self.regions)
        return {f"{self.id}-{n}" if len(regions) > 1 else self.id: region for n, region in enumerate(regions, 1)}


_TEXTS: Final = tuple(field.name for field in fields(Correction) if field.name not in ("id", "is_left_out"))


def _as_dict(correction: Correction) -> dict[str, str]:
    values = vars(correction) | {"keep": _LEFT_OUT if correction.is_left_out else ""}
    return {key: values[key] for key in ("id", "keep", *_TEXTS) if values[key]}


def write_corrections(store: Path, corrections: Iterable[Correction]) -> None:
    """Write ``corrections.jsonl`` atomically, unless it exists with the same contents; without any, remove it.

    Raises:
        WriteError: the file cannot be written.
    """
    lines = [json.dumps(_as_dict(correction), ensure_ascii=False) + "\n" for correction in corrections]
    keep_contents(store / CORRECTIONS, "".join(lines).encode())


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
    found = {key: record.text(key) if key in record else "" for key in ("keep", *_TEXTS)}
    if (keep := found.pop("keep")) not in ("", _LEFT_OUT):
        raise record.fault("keep", f"'{_LEFT_OUT}'")
    correction = Correction(record.text("id"), is_left_out=bool(keep), **found)
    try:
        correction.check()
    except ValueError as error:
        raise CorruptStoreError(f"{where}: {error}") from None
    return correction
