"""Folders of recordings, without texts, or with the text or the subtitles of each beside it: ``a.wav``, ``a.txt``."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.transcripts import read_text_file, recordings_below
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.files.paths import read_regular
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.preprocess.text.language_codes import is_labels
from tts_prep.quantities import count_text

NORMALIZED: Final = ".normalized.txt"
_SUBTITLES: Final = (".srt", ".vtt")
_SUFFIXES: Final = (NORMALIZED, ".txt", ".lab", ".json", *_SUBTITLES)
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


_TIME: Final = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2}[.,]\d{1,3})"
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_CUE: Final = re.compile(rf"[ \t]*{_TIME}[ \t]+-->[ \t]+{_TIME}\b[^\n]*\n?")


def read_subtitles(root: Path, file: str, audio: str, speaker: str) -> Iterator[SourceUtterance | Failure]:
    """Yield the cues of SubRip's or WebVTT's file as segments of a recording; cues without a text are left out.

    Args:
        root: the root of the corpus.
        file: the path of the subtitles, from `text_file`.
        audio: that of the recording.
        speaker: who speaks in it.
    """
    path = PurePosixPath(audio)
    identifier, folder = str(path.with_suffix("")), "" if str(path.parent) == "." else str(path.parent)
    content = read_text_file(root, file, identifier)
    if isinstance(content, Failure):
        yield content
        return
    text, number = "\n".join(content.splitlines()), 0
    for block in _BLANK.split(text):
        lines = block.lstrip("\n")
        # A number or a name may precede the times.
        cue = _CUE.match(lines) or _CUE.match(lines.partition("\n")[2])
        if not cue:
            continue
        number += 1
        where, words = f"{file}: cue {number}", " ".join(cue.string[cue.end() :].split())
        start, end = (
            int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
            for hours, minutes, seconds in (cue.groups()[:3], cue.groups()[3:])
        )
        name = f"{identifier}-{number:04}"
        if start >= end:
            yield Failure.of_row(name, where, f"it ends at {end:g} s, before it begins, at {start:g} s")
        elif words:
            yield SourceUtterance(name, words, audio, where, speaker, {"folder": folder}, start=start, end=end)
    if not number:
        yield Failure(identifier, f"{file}:1", "corpus", f"{file}: no cue such as '00:00:01,000 --> 00:00:02,500'")


def _read_json(root: Path, file: str, identifier: str) -> TextBeside | Failure:
    """Read an object with a text, as in Emilia; other texts and numbers become columns."""
    try:
        found: Any = json.loads(read_regular(root / file, _MAX_JSON))
    except OSError as error:
        return Failure.of_row(identifier, file, f"cannot be read ({error.strerror})")
    except (ValueError, RecursionError) as error:
        return Failure.of_row(identifier, file, f"not JSON ({error})")
    texts = found if isinstance(found, dict) else {}
    normalized, text, speaker = (
        next((str(texts[key]).strip() for key in keys if type(texts.get(key)) in kinds), "")
        for keys, kinds in ((_NORMALIZED_KEYS, (str,)), (_TEXT_KEYS, (str,)), (_SPEAKER_KEYS, (str, int)))
    )
    if not (normalized or text):
        reason = f"expected an object with one of {', '.join((*_TEXT_KEYS, *_NORMALIZED_KEYS))}"
        return Failure.of_row(identifier, file, reason)
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


SPEAKERS: Final = ("last", "first", "none", *"123456789")
"""Values of the option ``speakers``."""

# Folders that say what is in them, not who speaks.
_PLAIN: Final = frozenset(("wav", "wavs", "audio", "audios", "clips", "recordings", "flac", "mp3", "wav48", "wav24"))


def read_folder(
    root: Path,
    speakers: str = "last",
    layout: str = "",
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[SourceUtterance | Failure]:
    """Yield the recordings below a folder, sorted by path, with the texts beside them.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Objects in
    JSON can have the speaker, the language and further columns. Subtitles make a row of each of their cues.

    Args:
        speakers: the folder that names the speaker: the ``"last"`` or ``"first"`` of the path, its number in the path
            (``"2"``), or ``"none"``. Folders such as ``wavs`` are skipped. If all recordings are of one such speaker,
            or have none, it is ``"0"``.
        layout: a layout in TOML, by which the folder is read instead; see `tts_prep.corpora.layout.Layout`.
        texts: whether a recording without a text fails.
        report: called with one line about the speakers.

    Raises:
        CorpusError: the folder is missing or has no recordings, or no recording has a text.
        ConfigurationError: ``speakers`` is not one of `SPEAKERS`, or the layout is invalid.
    """
    if layout:
        # Imported here, because layouts need this module.
        from tts_prep.corpora.records import parse_layout

        if speakers != "last":
            raise ConfigurationError("speakers: the layout says who speaks; give one of the two alone")
        yield from parse_layout(layout)(root)
        return
    if speakers not in SPEAKERS:
        raise ConfigurationError(f"speakers: expected one of {', '.join(SPEAKERS)}, found {speakers!r}")
    names = recordings_below(root)
    files = {name: text_file(root, name) for name in names}
    if texts and not any(files.values()):
        raise CorpusError(
            f"{root}: no recording has a text, such as {PurePosixPath(names[0]).with_suffix('.txt')} or .lab, .json or "
            ".srt; 'tts-prep recordings' reads recordings without texts"
        )
    spoken_by = _speakers(names, speakers, report)
    numeric: dict[str, bool] = {}
    for name, file in files.items():
        if file.endswith(_SUBTITLES):
            yield from read_subtitles(root, file, name, spoken_by[name])
            continue
        text = _text(root, name, file, texts, numeric)
        if isinstance(text, Failure):
            yield text
            continue
        path = PurePosixPath(name)
        meta = {**text.meta, "folder": str(path.parent) if path.parent.parts else ""}
        speaker = text.speaker or spoken_by[name]
        yield SourceUtterance(str(path.with_suffix("")), text.text, name, text.where, speaker, meta, text.normalized)


def _text(root: Path, name: str, file: str, texts: bool, numeric: dict[str, bool]) -> TextBeside | Failure:
    path = PurePosixPath(name)
    identifier = str(path.with_suffix(""))
    if not file:
        missing = Failure.of_row(identifier, name, f"no text beside it, such as {path.stem}.txt")
        return missing if texts else TextBeside("", f"{name}:1")
    text = read_text(root, file, identifier)
    return text if isinstance(text, Failure) else _of_one_kind(text, identifier, numeric)


def _speakers(names: Sequence[str], which: str, report: Callable[[str], None]) -> dict[str, str]:
    """Return the speaker of each recording; an anonymous one if all are of one folder."""
    spoken_by = {name: _speaker(name, which) for name in names}
    if len(set(spoken_by.values())) > 1:
        place = f"folder {which}" if which.isdigit() else f"the {which}"
        report(f"speakers: {count_text(len(set(spoken_by.values())), 'folder')}, {place} of each path")
        return spoken_by
    if which != "none":
        levels = enumerate(zip_longest(*map(_folders, names), fillvalue=""), 1)
        varying = [(number, sorted({*found} - {""})) for number, found in levels if len({*found}) > 1]
        if varying:
            number, found = varying[0]
            report(
                f"note: one speaker, since the {which} folder is {spoken_by[names[0]]!r} in every path; folder "
                f"{number} has {count_text(len(found), 'name')}, such as {found[0]}: --speakers {number} takes them "
                "for speakers, --speakers none says that there is one"
            )
    return dict.fromkeys(names, ANONYMOUS)


def _folders(name: str) -> list[str]:
    return [folder for folder in PurePosixPath(name).parent.parts if folder.lower() not in _PLAIN]


def _speaker(name: str, speakers: str) -> str:
    folders = _folders(name)
    place = {"last": -1, "first": 0}.get(speakers, int(speakers) - 1 if speakers.isdigit() else None)
    return ANONYMOUS if place is None or not -1 <= place < len(folders) or not folders else folders[place]


def _of_one_kind(text: TextBeside, identifier: str, numeric: dict[str, bool]) -> TextBeside | Failure:
    """Return the text with columns of the kinds that earlier texts have; numbers become texts, not the reverse."""
    meta = dict(text.meta)
    for column, value in text.meta.items():
        if numeric.setdefault(column, not isinstance(value, str)) == (not isinstance(value, str)):
            continue
        if isinstance(value, str):
            reason = f"{column}: expected a number as in earlier files, found {value[:60]!r}"
            return Failure.of_row(identifier, text.where, reason)
        meta[column] = f"{value:.15g}"
    return replace(text, meta=meta)


_EXAMINED: Final = 1000
"""The number of recordings for which a text is searched."""


def read_recordings(root: Path, report: Callable[[str], None] = lambda _: None) -> Iterator[SourceUtterance | Failure]:
    """Yield the recordings below a folder, sorted by path, with empty texts.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Files and
    folders whose names start with a dot are skipped.

    Args:
        report: called with one line if recordings have texts, which are not read.

    Raises:
        CorpusError: the folder is missing, cannot be read, or has no recordings.
    """
    names = recordings_below(root)
    if with_text := sum(bool(text_file(root, name)) for name in names[:_EXAMINED]):
        report(f"note: {with_text:,} of {len(names[:_EXAMINED]):,} recordings have a text; 'tts-prep folder' reads it")
    for name in names:
        path = PurePosixPath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        yield SourceUtterance(str(path.with_suffix("")), "", name, name, ANONYMOUS, {"folder": folder})
