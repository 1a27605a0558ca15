"""The utterances of manifests: the roles of their columns, guessed or set by the user, and the values of their rows."""

import difflib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.manifests.containers import find_files, open_containers
from tts_prep.corpora.manifests.json_lines import Container, Row
from tts_prep.corpora.manifests.lists import ListColumn, SeenLists, list_columns
from tts_prep.errors import ConfigurationError, CorpusError, FeatureError
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.format.records.failures import Failure
from tts_prep.format.records.provenance import RIGHTS
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.preprocess.text.language_codes import language_code
from tts_prep.tables.process import number_of

KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    # NeMo, Emilia, Common Voice, Hugging Face, F5-TTS, audiofolder.
    "audio": ("audio_filepath", "audio", "audio_file", "path", "wav", "wav_path", "audio_path", "file_name", "file"),
    "normalized_text": ("normalized_text", "text_normalized", "normalized_transcription"),
    "text": ("text", "sentence", "transcript", "transcription", "raw_text", "raw_transcription"),
    "id": ("id", "utt_id", "uniq_id", "utterance_id", "segment_id", "key", "__key__"),
    # NeMo has codes as `speaker` beside names.
    "speaker": ("speaker_name", "speaker", "speaker_id", "client_id", "spk", "spk_id", "reader"),
    "language": ("language", "lang", "locale"),
    "start": ("offset", "start", "start_time", "begin"),
    "end": ("end", "end_time"),
    "duration": ("duration",),
    # Of language models: the utterance or the recording that a row takes the voice of; and how it is spoken.
    "ref_audio": ("ref_audio",),
    "instruct": ("instruct", "instruction"),
    **{name: (name, *(("licence",) if name == "license" else ())) for name in RIGHTS},
}
"""Role → names of its column in the manifests of common corpora and systems, most frequent first."""

_NEEDED = ("audio", "text")
_KEPT = ("language", "ref_audio", "instruct", *RIGHTS)
"""The roles that are columns of the store, of these names."""


def guess_columns(names: Collection[str]) -> dict[str, str]:
    """Guess the roles of columns from their names: role → column."""
    lower = {name.lower(): name for name in reversed(list(names))}
    guesses = {role: next((lower[name] for name in known if name in lower), "") for role, known in KNOWN.items()}
    return {role: name for role, name in guesses.items() if name}


def parse_columns(text: str) -> dict[str, str]:
    """Parse ``"audio=path,text=sentence"`` to role → column.

    Raises:
        ConfigurationError: a role is unknown or repeated, or an item has another form.
    """
    columns: dict[str, str] = {}
    for item in text.split(","):
        role, equals, name = (piece.strip() for piece in item.partition("="))
        if not (role and equals and name):
            raise ConfigurationError(
                f"columns: expected ROLE=COLUMN,…, such as audio=path,text=sentence, found {item!r}"
            )
        if role not in KNOWN:
            close = difflib.get_close_matches(role, KNOWN, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ConfigurationError(f"columns: expected one of {', '.join(KNOWN)}, found {role!r}{hint}")
        if role in columns:
            raise ConfigurationError(f"columns: {role!r} is repeated in {text!r}")
        columns[role] = name
    return columns


_NOT_A_NAME: Final = re.compile(r"\.(wav|flac|mp3|opus|ogg)$|\s.*\s", re.IGNORECASE)


def _no_header(names: Collection[str]) -> str:
    """Return what to do where the names of columns are those of a file, or a sentence."""
    if any(_NOT_A_NAME.search(name) for name in names):
        return "; is the first line a recording? 'tts-prep filelist' and 'ljspeech' read lists without a header"
    return ""


def choose_columns(
    where: str, names: Collection[str], wanted: str | None, *, holds_audio: bool, texts: bool = True
) -> dict[str, str]:
    """Return role → column for a manifest.

    Args:
        where: the manifest, for error messages.
        names: the columns of the manifest.
        wanted: roles set by the user, in the format of `parse_columns`; the other roles are guessed.
        holds_audio: whether the rows locate their recordings themselves. Otherwise a column for the audio is required.
        texts: whether a column for the text is required.

    Raises:
        ConfigurationError: a named column does not exist, or there is no column for the audio or the text.
    """
    given = parse_columns(wanted) if wanted else {}
    for role, name in given.items():
        if name not in names:
            raise ConfigurationError(f"{where}: no column {name!r} for {role}; its columns are {', '.join(names)}")
    taken = set(given.values())
    guessed = {role: name for role, name in guess_columns(names).items() if name not in taken}
    columns = {**guessed, **given}
    if "text" not in columns and "normalized_text" in columns:
        columns["text"] = columns["normalized_text"]
    for role in _NEEDED:
        if role not in columns and not (holds_audio if role == "audio" else not texts):
            raise ConfigurationError(
                f"{where}: none of the columns {', '.join(names) or '(none)'} holds the {role}; "
                f"name it with --columns {role}=COLUMN"
                + (", or give --frontend none" if role == "text" else "")
                + _no_header(names)
            )
    return columns


_MAX_SECONDS = 1e9
_MAX_COLUMNS = 1000
_FOLDERS = ("", "clips", "wavs", "wav", "audio")
"""Folders of recordings, relative to the manifest's folder. Common Voice uses clips/."""


def read_manifest(
    corpus: Path,
    files: Sequence[str] = ("",),
    root: Path | None = None,
    columns: str | None = None,
    lists: Sequence[str] = (),
    texts: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of manifests, file by file.

    Manifests are read twice, first for the types of their columns. Memory does not depend on the number of rows.

    Args:
        corpus: the folder of the manifests.
        files: manifests in ``corpus``, or folders of manifests; see ``docs/corpora.md``.
        root: folder of relative audio paths. Default: the folder of each manifest, or ``clips/`` or ``wavs/`` in it.
        columns: roles of columns, such as ``"audio=path,text=sentence"``; the other roles are guessed.
        lists: the columns of lists of numbers that become arrays, such as ``"audio_codes@own:12.5"``; by default, all
            do, with the axis ``own``, and with ``"none"``, none does.
        texts: whether a column for the text is required.
        report: called with a line about the roles of the columns, and one about columns that are not read.

    Raises:
        CorpusError: a manifest cannot be read, or has an unknown format.
        ConfigurationError: there is no column for the audio or the text, or a package is missing.
    """
    paths = find_files([corpus / name for name in files])
    wanted_audio = parse_columns(columns).get("audio") if columns else None
    containers = open_containers(paths, wanted_audio)
    is_numeric, names, seen = _types(containers)
    arrays = list_columns(str(paths[0]), seen, lists)
    for name in seen:
        del is_numeric[name], names[name]
    holds_audio = bool(arrays) or all(container.holds_audio for _, container in containers)
    roles = choose_columns(str(paths[0]), names, columns, holds_audio=holds_audio, texts=texts)
    report("columns: " + ", ".join(f"{role} = {name}" for role, name in roles.items()))
    if arrays:
        report(f"arrays: {'; '.join(map(str, arrays))}")
    unread = dict.fromkeys([*(name for _, container in containers for name in container.arrays), *seen])
    for one in arrays:
        del unread[one.column]
    if unread:
        report(f"columns that are not read, because they are arrays: {', '.join(unread)}")
    references = _references(containers, roles, corpus, root, report) if "ref_audio" in roles else {}
    for path, container in containers:
        for item in _utterances(path, container, roles, is_numeric, corpus, root, arrays):
            if isinstance(item, SourceUtterance) and (found := references.get(str(item.meta.get("ref_audio")))):
                item = replace(item, meta={**item.meta, "ref_audio": found})
            yield item


def _references(
    containers: Sequence[tuple[Path, Container]],
    roles: Mapping[str, str],
    corpus: Path,
    root: Path | None,
    report: Callable[[str], None],
) -> dict[str, str]:
    """Return the ids of rows whose recordings are references, by reference; report what names no row and no file."""
    rows = (row for _, container in containers for row in container.rows() if isinstance(row, Row))
    missing = dict.fromkeys(name for row in rows if (name := _text(row.values.get(roles["ref_audio"]))))
    folder, n_named = root or _folder(containers[0][0], next(iter(missing), "")), len(missing)
    places = {name if Path(name).is_absolute() else _relative(folder / name, root or corpus): name for name in missing}
    ids: dict[str, str] = {}
    for path, container in containers:
        for item in _utterances(path, container, roles, {}, corpus, root):
            missing.pop(item.id, None)
            if isinstance(item, SourceUtterance) and item.audio in places and item.end is None:
                ids.setdefault(places[item.audio], item.id)
    # What is the id of a row is no path.
    ids = {name: identifier for name, identifier in ids.items() if name in missing}
    unknown = [name for name in missing if name not in ids and not os.path.isfile(folder / name)]  # noqa: PTH113
    n_files = len(missing) - len(ids) - len(unknown)
    report(
        f"ref_audio: {n_named - n_files - len(unknown):,} utterances and {n_files:,} other recordings are references"
    )
    if unknown:
        report(f"note: {len(unknown):,} of {n_named:,} names in ref_audio are no row and no file: {unknown[0]}")
    return ids


def _utterances(
    path: Path,
    container: Container,
    roles: Mapping[str, str],
    is_numeric: Mapping[str, bool],
    corpus: Path,
    root: Path | None,
    arrays: Sequence[ListColumn] = (),
) -> Iterator[SourceUtterance | Failure]:
    folder: Path | None = None
    place = _relative(path, root or corpus)
    for row in container.rows():
        if isinstance(row, Failure):
            yield row
            continue
        audio = row.audio or _text(_of_role(row, roles, "audio"))
        if not audio and not arrays:
            yield Failure.of_row(_text(_of_role(row, roles, "id")), row.where, "no recording")
            continue
        location = ""
        if row.inside:
            location = _relative(Path(audio), root or corpus)
        elif audio:
            folder = folder or root or _folder(path, audio)
            location = audio if Path(audio).is_absolute() else _relative(folder / audio, root or corpus)
        found = _utterance(row, audio, location, folder, roles, is_numeric)
        if arrays and isinstance(found, SourceUtterance):
            found = _with_lists(found, row, arrays, place, _of_role(row, roles, "duration"))
        yield found


def _of_role(row: Row, roles: Mapping[str, str], role: str) -> Any:
    """Return the value of the column with a role; a column can have no name."""
    return row.values.get(roles[role]) if role in roles else None


def _with_lists(
    utterance: SourceUtterance, row: Row, arrays: Sequence[ListColumn], place: str, duration: Any
) -> SourceUtterance | Failure:
    """Return an utterance with its lists; one without a recording is as long as its first array with a rate."""
    lists: dict[str, dict[str, Any]] = {}
    try:
        seconds = utterance.end or _seconds(duration)
        for one in arrays:
            value = row.values.get(one.column)
            if not _is_missing(value) and value != []:
                lists[one.spec.name] = entry = one.entry(value)
                seconds = seconds or (entry["rows"] / one.spec.rate if one.spec.rate else None)
        if not utterance.audio and not (lists and seconds and seconds > 0):
            name = arrays[0].column
            advice = f"no duration; --list {name}@own:HZ says how many of {name} a second has"
            raise FeatureError(f"no recording, and {advice if lists else 'no list'}")
    except FeatureError as error:
        return Failure.of_row(utterance.id, row.where, str(error))
    taken = {name for one in arrays for name in one.spec.own_columns}
    meta = {f"corpus_{name}" if name in taken else name: value for name, value in utterance.meta.items()}
    utterance = utterance if utterance.audio else replace(utterance, start=0.0, end=seconds)
    return replace(utterance, meta=meta, lists=lists, lists_at=f"{place}\n{row.place}" if lists else "")


def _relative(path: Path, root: Path) -> str:
    """Return a path relative to the root, so that a store does not depend on the location of its corpus."""
    return Path(os.path.relpath(path, root)).as_posix()


def _further_columns(row: Row, roles: Mapping[str, str], is_numeric: Mapping[str, bool]) -> dict[str, str | float]:
    """Return the values of the columns that have no role, and of the language."""
    meta: dict[str, str | float] = {}
    used = {name for role, name in roles.items() if role not in ("duration", *_KEPT)}
    kept = {roles[role]: role for role in _KEPT if role in roles}
    if roles.get("speaker") == "speaker_name" and is_numeric.get("speaker"):
        used.add("speaker")  # NeMo's codes of the names
    for name, numeric in is_numeric.items():
        if name in used or (name == roles.get("duration") and "start" in roles):
            continue
        value = row.values.get(name)
        column = kept.get(name) or _column_name(name)
        meta[column] = _number(value) if numeric and column not in _KEPT[1:] else _text(value)
    if isinstance(language := meta.get("language"), str):
        meta["language"] = language_code(language)
    return meta


def _utterance(
    row: Row, audio: str, location: str, folder: Path | None, roles: Mapping[str, str], is_numeric: Mapping[str, bool]
) -> SourceUtterance | Failure:
    values = {role: row.values.get(name) for role, name in roles.items()}
    try:
        start, end = _span(values)
    except (TypeError, ValueError, OverflowError):
        times = ", ".join(f"{role} {values.get(role)!r}" for role in ("start", "end", "duration") if role in values)
        return Failure.of_row(_text(values.get("id")), row.where, f"expected seconds, found {times}")
    identifier = _text(values.get("id")) or _identifier(audio, folder, row, start)
    normalized = _text(values.get("normalized_text"))
    meta = _further_columns(row, roles, is_numeric)
    text = normalized or _text(values.get("text"))
    speaker = _text(values.get("speaker")) or ANONYMOUS
    return SourceUtterance(
        identifier,
        text,
        location,
        row.where,
        speaker,
        meta,
        bool(normalized),
        start,
        end,
        inside=row.inside,
        channel=row.channel,
    )


def _span(values: Mapping[str, Any]) -> tuple[float, float | None]:
    """Return the start and end of the segment in seconds; an end of None is the end of the recording.

    A duration is used only with a start; otherwise it is the duration of the recording.
    """
    start = _seconds(values.get("start"))
    end = _seconds(values.get("end"))
    duration = _seconds(values.get("duration"))
    if end is None and start is not None and duration is not None:
        end = start + duration
    if not 0 <= (start or 0.0) <= (math.inf if end is None else end):
        raise ValueError
    return start or 0.0, end


def _seconds(value: Any) -> float | None:
    if _is_missing(value):
        return None
    seconds = float(value)
    if not abs(seconds) <= _MAX_SECONDS:
        raise ValueError
    return seconds


def _types(
    containers: Sequence[tuple[Path, Container]],
) -> tuple[dict[str, bool], Counter[str], dict[str, SeenLists]]:
    """Return whether each column is numeric, the number of values of all columns, and those that are mostly arrays.

    Raises:
        CorpusError: there are no rows, or too many columns.
    """
    is_numeric: dict[str, bool] = {}
    names: Counter[str] = Counter()
    lists: dict[str, SeenLists] = {}
    failure: Failure | None = None
    for path, container in containers:
        for row in container.rows():
            if isinstance(row, Row):
                _update_types(row, is_numeric, names)
                for name in row.values if row.place else ():
                    if isinstance(row.values[name], list) and name.isprintable():
                        dtype = getattr(container, "lists", {}).get(name, "")
                        lists.setdefault(name, SeenLists(dtype)).add(row.values[name])
            else:
                failure = failure or row
            if len(names) > _MAX_COLUMNS:
                raise CorpusError(f"{path}: more than the maximum of {_MAX_COLUMNS:,} columns")
    if not names:
        found = f"no valid rows: {failure.reason}" if failure else "no rows, expected one for each recording"
        raise CorpusError(f"{containers[0][0]}: {found}")
    return is_numeric, names, {name: seen for name, seen in lists.items() if 2 * seen.shapes.total() > names[name]}


def _update_types(row: Row, is_numeric: dict[str, bool], names: Counter[str]) -> None:
    """Count the values of the columns of a row in ``names``, and update whether they have only numbers."""
    for name, value in row.values.items():
        names[name] += value != [] and not _is_missing(value)
        # Columns without values are dropped.
        if not _is_missing(value):
            is_numeric[name] = is_numeric.get(name, True) and number_of(value) is not None


def _is_missing(value: Any) -> bool:
    """Return whether there is no value; the missing numbers of tables of floats are NaN."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _number(value: Any) -> float:
    number = number_of(value)
    return math.nan if number is None else number


def _text(value: Any) -> str:
    """Return a value as text: JSON for lists and objects, and an empty string for a missing value."""
    if _is_missing(value):
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _column_name(name: str) -> str:
    """Return a valid name for a column of the index."""
    plain = "".join(character if character.isalnum() or character == "_" else "_" for character in name)
    plain = plain if plain.isidentifier() else f"_{plain}"
    return f"corpus_{plain}" if plain in FIXED_COLUMNS else plain


def _folder(path: Path, audio: str) -> Path:
    """Return the folder that the path of a recording is relative to."""
    candidates = [path.parent / name for name in _FOLDERS]
    try:
        return next((folder for folder in candidates if (folder / audio).exists()), path.parent)
    except OSError:  # a name that is too long for a file; its row will fail
        return path.parent


def _identifier(audio: str, folder: Path | None, row: Row, start: float) -> str:
    """Return the path without suffix, relative to the folder if it is below it, and the start of a segment in ms."""
    if row.inside:
        return _text(row.values.get("__key__")) or row.where
    pure = PurePosixPath(audio)
    base = folder.absolute().as_posix() if folder else ""
    if base and pure.is_absolute() and pure.is_relative_to(base):
        pure = pure.relative_to(base)
    name = str(pure.with_suffix("")) if pure.name else audio or row.where
    return f"{name}-{round(start * 1000):08d}" if start else name
