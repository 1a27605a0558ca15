"""What layouts do not say of corpora of English: the readers of VCTK and GigaSpeech, and quotes in CMU ARCTIC."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tts_prep.corpora.transcripts import files_with, read_transcript, subfolders
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.quantities import count_text

_MICROPHONES = ("mic1", "mic2")
# Release 0.92 has two FLAC files per sentence; earlier releases have one WAV file.
_FOLDERS = ("wav48_silence_trimmed", "wav48")
_RECORDING = re.compile(r"(?P<id>.+?)(?:_mic[12])?\.(?:flac|wav)", re.IGNORECASE)


def read_vctk(
    root: Path, mic: str = "mic1", report: Callable[[str], None] = lambda _: None
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``wav48_silence_trimmed`` or ``wav48``, with their ``txt/<speaker>/<id>.txt``.

    The columns ``age``, ``gender``, ``accent`` and ``region`` are from ``speaker-info.txt``; they are empty for
    speakers that it does not have. A recording without a text (all of p315) is yielded as a `Failure`. A speaker
    without any recording of the selected microphone is skipped; if only some are missing, those are failures.

    Args:
        mic: a microphone of release 0.92, ``"mic1"`` or ``"mic2"``; p280 and p315 have no second one.
        report: called with one line that names the skipped speakers.

    Raises:
        CorpusError: the folder is not a VCTK corpus.
        ConfigurationError: the microphone does not exist.
    """
    if mic not in _MICROPHONES:
        raise ConfigurationError(f"mic: expected one of {', '.join(_MICROPHONES)}, found {mic!r}")
    folder = _folder_of_recordings(root)
    speakers = _read_speakers(root / "speaker-info.txt")
    empty = True
    without: list[str] = []
    for speaker in subfolders(root / folder):
        recordings = _recordings(root / folder / speaker)
        if recordings and not any(_of_microphone(name, mic) for names in recordings.values() for name in names):
            without.append(f"{speaker} ({count_text(len(recordings), 'utterance')})")
            continue
        for identifier, names in recordings.items():
            empty = False
            yield _of_vctk(root, f"{folder}/{speaker}", identifier, names, mic, speakers.get(speaker, {}))
    if without:
        report(f"skipped, no recordings of {mic}: {', '.join(without)}")
    if empty and without:
        raise CorpusError(f"{root / folder}: no recordings of {mic}")
    if empty:
        raise CorpusError(f"{root / folder}: no recordings, expected <speaker>/<id>_mic1.flac or <speaker>/<id>.wav")


def _of_microphone(name: str, mic: str) -> bool:
    return f"_{mic}." in name or "_mic" not in name


def _recordings(folder: Path) -> dict[str, list[str]]:
    """Return the recordings of a speaker: id → file names."""
    recordings: dict[str, list[str]] = {}
    for name in files_with(folder, (".flac", ".wav")):
        match = _RECORDING.fullmatch(name)
        if match:
            recordings.setdefault(match["id"], []).append(name)
    return recordings


def _of_vctk(
    root: Path, folder: str, identifier: str, names: list[str], mic: str, meta: dict[str, str | float]
) -> SourceUtterance | Failure:
    speaker = folder.rpartition("/")[2]
    where = f"txt/{speaker}/{identifier}.txt:1"
    chosen = [name for name in names if _of_microphone(name, mic)]
    if not chosen:
        reason = f"{folder}/{identifier}: no recording of {mic}, only {', '.join(names)}"
        return Failure(identifier, where, "corpus", reason)
    text = read_transcript(root, where.removesuffix(":1"), identifier)
    if isinstance(text, Failure):
        return text
    return SourceUtterance(identifier, text, f"{folder}/{chosen[0]}", where, speaker, meta)


def _folder_of_recordings(root: Path) -> str:
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a VCTK corpus with {_FOLDERS[0]}/ or {_FOLDERS[1]}/")
    folder = next((name for name in _FOLDERS if (root / name).is_dir()), None)
    if folder is None or not (root / "txt").is_dir():
        raise CorpusError(f"{root}: expected a VCTK corpus, with txt/ and {_FOLDERS[0]}/ or {_FOLDERS[1]}/")
    return folder


def _read_speakers(path: Path) -> dict[str, dict[str, str | float]]:
    """Return speaker → columns from the table ID, AGE, GENDER, ACCENTS, REGION, whose cells are separated by spaces.

    A region may have several words or none, and may be followed by a comment in parentheses.
    """
    if not path.exists():
        return {}
    speakers: dict[str, dict[str, str | float]] = {}
    for where, line in read_lines(path):
        if isinstance(line, Failure):
            raise CorpusError(line.reason)
        fields = line.partition("(")[0].split()
        if not fields or fields[0] == "ID":
            continue
        if len(fields) < 3:
            raise CorpusError(f"{where}: expected 'ID AGE GENDER ACCENTS REGION', found {len(fields)} fields")
        identifier, age, gender, accent, region = (*fields[:3], "".join(fields[3:4]), " ".join(fields[4:]))
        # Release 0.80 omits the p of the folder's name.
        name = f"p{identifier}" if identifier.isdigit() else identifier
        speakers[name] = {"gender": gender, "accent": accent, "region": region}
        if age.isdigit():
            speakers[name]["age"] = int(age)
    return speakers


def without_backslashes(values: dict[str, str], _: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of CMU ARCTIC with the quotes of its text, before which its list has backslashes."""
    return {**values, "text": values["text"].replace('\\"', '"')}


_MARKS: Final = {"COMMA": ",", "PERIOD": ".", "QUESTIONMARK": "?", "EXCLAMATIONPOINT": "!"}
_TAG: Final = re.compile(r" ?<([A-Z]+)>")


def read_gigaspeech(root: Path, subset: str = "XL") -> Iterator[SourceUtterance | Failure]:
    """Yield the segments of ``GigaSpeech.json`` that belong to a subset.

    Texts are in capitals and become lower case, because frontends spell capitals; tags such as ``<COMMA>`` become
    punctuation. Segments without speech (``<SIL>``, ``<MUSIC>``, ``<NOISE>``, ``<OTHER>``) are left out.

    Args:
        root: the folder of ``GigaSpeech.json``.
        subset: one of XS, S, M, L, XL, DEV and TEST.

    Raises:
        CorpusError: there is no such file.
    """
    # Imported late, because help texts and worker processes do not read manifests.
    from tts_prep.corpora.manifests.json_lines import json_array

    for where, recording in json_array(root / "GigaSpeech.json", "audios"):
        if isinstance(recording, Failure):
            yield recording
            continue
        segments = recording.get("segments")
        for segment in segments if isinstance(segments, list) else ():
            if not isinstance(segment, dict) or not isinstance(segment.get("subsets"), list):
                yield Failure("", where, "corpus", f"{where}: expected segments with 'subsets'")
            elif f"{{{subset}}}" in segment["subsets"] and (utterance := _of_segment(recording, segment, where)):
                yield utterance


def _of_segment(
    recording: Mapping[str, Any], segment: Mapping[str, Any], where: str
) -> SourceUtterance | Failure | None:
    """Return the utterance of a segment, or None if nobody speaks in it."""
    try:
        text, identifier, path = str(segment["text_tn"]), str(segment["sid"]), str(recording["path"])
        start, end = float(segment["begin_time"]), float(segment["end_time"])
        if not 0 <= start < end:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        return Failure("", where, "corpus", f"{where}: expected path, sid, text_tn, begin_time and end_time")
    spoken = _TAG.sub(lambda tag: _MARKS.get(tag[1], ""), text).strip().lower()
    if not spoken:
        return None
    speaker = str(segment.get("speaker") or "N/A")
    meta = {"source": str(recording.get("source", "")), "category": str(recording.get("category", ""))}
    return SourceUtterance(
        identifier,
        spoken,
        path,
        where,
        ANONYMOUS if speaker == "N/A" else speaker,
        meta,
        normalized=True,
        start=start,
        end=end,
    )
