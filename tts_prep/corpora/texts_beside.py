"""The text of a recording in a file of its own: ``a.wav`` beside ``a.txt``, ``a.lab`` or ``a.json``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.transcripts import read_text_file
from tts_prep.format.files.regular_files import read_regular
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.text.scripts import is_labels

NORMALIZED: Final = ".normalized.txt"
_SUFFIXES: Final = (NORMALIZED, ".txt", ".lab", ".json")
"""The suffixes of texts; the first that exists is read."""

_SIBLINGS: Final = ("txts", "txt", "texts", "text", "transcripts", "transcript", "lab", "labs")
"""Folders of texts beside the folder of the recordings, as in WenetSpeech4TTS (``wavs`` and ``txts``)."""

_TIMES: Final = re.compile(r"[\d\s.,:;\[\]()'\"-]+")
_MAX_JSON: Final = 1 << 22
_TEXT_KEYS: Final = ("text", "transcript", "transcription", "sentence")
_NORMALIZED_KEYS: Final = ("normalized_text", "text_normalized")
_SPEAKER_KEYS: Final = ("speaker", "speaker_id", "spk")
_NOT_COLUMNS: Final = frozenset(("id", "wav", "audio", "path", "audio_filepath", "file", "filename"))


@dataclass(frozen=True)
class TextBeside:
    """The text of a recording, and what else its file says.

    Attributes:
        where: the file and line.
        speaker: the speaker, or an empty string.
        meta: columns: texts and numbers.
        normalized: whether the file marks the text as normalized.
    """

    text: str
    where: str
    speaker: str = ""
    meta: Mapping[str, str | float] = field(default_factory=dict)
    normalized: bool = False


def has_text(root: Path, audio: str) -> bool:
    """Return whether a recording has a text in a file of its own."""
    return bool(text_file(root, audio))


def text_file(root: Path, audio: str) -> str:
    """Return the path of a recording's text, or an empty string.

    Args:
        root: the root of the corpus.
        audio: the path of the recording, relative to the root; so is the result.
    """
    path = PurePosixPath(audio)
    beside = [path.with_name(path.stem + suffix) for suffix in _SUFFIXES]
    if path.parent.parts:
        above = path.parent.parent
        beside += [above / name / (path.stem + suffix) for name in _SIBLINGS for suffix in _SUFFIXES]
    return next((str(name) for name in beside if (root / name).is_file()), "")


def read_text(root: Path, file: str, identifier: str) -> TextBeside | Failure:
    """Read the text of a recording.

    Lines are joined by spaces. In a file as in WenetSpeech4TTS, the first line is the id, a tab and the text, and the
    second line has times, which are skipped.

    Args:
        root: the root of the corpus.
        file: the path of the text, from `text_file`.
        identifier: the id of the utterance.
    """
    if file.endswith(".json"):
        return _read_json(root, file, identifier)
    text = read_text_file(root, file, identifier)
    if isinstance(text, Failure):
        return text
    lines = text.strip().split("\n")
    if is_labels(text):
        reason = f"{file}: labels with times, expected a text"
        return Failure(identifier, f"{file}:1", "corpus", reason)
    name, tab, rest = lines[0].partition("\t")
    if tab and name == PurePosixPath(file).stem:
        lines[0] = rest
        lines = lines[: 1 if len(lines) > 1 and _TIMES.fullmatch(lines[1]) else len(lines)]
    return TextBeside(" ".join(" ".join(lines).split()), f"{file}:1", normalized=file.endswith(NORMALIZED))


def _read_json(root: Path, file: str, identifier: str) -> TextBeside | Failure:
    """Read an object with a text, as in Emilia; other texts and numbers become columns."""
    try:
        found: Any = json.loads(read_regular(root / file, _MAX_JSON))
    except OSError as error:
        return Failure(identifier, file, "corpus", f"{file}: cannot be read ({error.strerror})")
    except (ValueError, RecursionError) as error:
        return Failure(identifier, file, "corpus", f"{file}: not JSON ({error})")
    texts = found if isinstance(found, dict) else {}
    normalized, text, speaker = (
        next((str(texts[key]).strip() for key in keys if type(texts.get(key)) in kinds), "")
        for keys, kinds in ((_NORMALIZED_KEYS, (str,)), (_TEXT_KEYS, (str,)), (_SPEAKER_KEYS, (str, int)))
    )
    if not (normalized or text):
        reason = f"{file}: expected an object with one of {', '.join((*_TEXT_KEYS, *_NORMALIZED_KEYS))}"
        return Failure(identifier, file, "corpus", reason)
    used = {*_TEXT_KEYS, *_NORMALIZED_KEYS, *_SPEAKER_KEYS, *_NOT_COLUMNS, *FIXED_COLUMNS}
    meta = {key: value for key, item in texts.items() if key not in used and (value := _column(key, item)) is not None}
    return TextBeside(normalized or text, f"{file}:1", speaker, meta, bool(normalized))


def _column(name: str, value: object) -> str | float | None:
    """Return the value of a column, or None if it cannot be one."""
    if not name.isidentifier() or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1 << 53 and math.isfinite(value) else None
    return value if isinstance(value, str) else None
