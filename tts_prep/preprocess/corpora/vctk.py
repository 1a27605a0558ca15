"""The VCTK corpus, releases 0.80 to 0.92."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.corpora.transcripts import files_with, read_transcript, subfolders
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.quantities import count_text

_MICROPHONES = ("mic1", "mic2")
# Release 0.92 has FLAC files, two a sentence; the releases before have WAV files, one a sentence.
_FOLDERS = ("wav48_silence_trimmed", "wav48")
_RECORDING = re.compile(r"(?P<id>.+?)(?:_mic[12])?\.(?:flac|wav)", re.IGNORECASE)


def read_vctk(
    root: Path, mic: str = "mic1", report: Callable[[str], None] = lambda _: None
) -> Iterator[Utterance | Failure]:
    """Yield the utterances of ``wav48_silence_trimmed`` or ``wav48``, with their ``txt/<speaker>/<id>.txt``.

    ``speaker-info.txt`` gives the columns age, gender, accent and region; where it is missing, or a speaker is not in
    it, they are empty. A recording without a text (all of p315's) is yielded as a `Failure`, in its place. A speaker
    who has no recording of the chosen microphone at all is left out; one who has some fails where one is missing.

    Args:
        mic: which of the two microphones of release 0.92, ``"mic1"`` or ``"mic2"``; p280 and p315 have no second.
        report: called with one line that names the speakers left out.

    Raises:
        CorpusError: this is no VCTK corpus.
        ConfigurationError: there is no such microphone.
    """
    if mic not in _MICROPHONES:
        raise ConfigurationError(f"mic: expected one of {', '.join(_MICROPHONES)}, found {mic!r}")
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a VCTK corpus with {_FOLDERS[0]}/ or {_FOLDERS[1]}/")
    folder = next((name for name in _FOLDERS if (root / name).is_dir()), None)
    if folder is None or not (root / "txt").is_dir():
        raise CorpusError(f"{root}: expected a VCTK corpus, with txt/ and {_FOLDERS[0]}/ or {_FOLDERS[1]}/")
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
            yield _utterance(root, f"{folder}/{speaker}", identifier, names, mic, speakers.get(speaker, {}))
    if without:
        report(f"no recordings of {mic}, left out: {', '.join(without)}")
    if empty and without:
        raise CorpusError(f"{root / folder}: no recordings of {mic}")
    if empty:
        raise CorpusError(f"{root / folder}: no recordings, expected <speaker>/<id>_mic1.flac or <speaker>/<id>.wav")


def _of_microphone(name: str, mic: str) -> bool:
    return f"_{mic}." in name or "_mic" not in name


def _recordings(folder: Path) -> dict[str, list[str]]:
    """Return the recordings of a speaker: id → the names of its files."""
    found: dict[str, list[str]] = {}
    for name in files_with(folder, (".flac", ".wav")):
        match = _RECORDING.fullmatch(name)
        if match:
            found.setdefault(match["id"], []).append(name)
    return found


def _utterance(
    root: Path, folder: str, identifier: str, names: list[str], mic: str, meta: dict[str, str | float]
) -> Utterance | Failure:
    speaker = folder.rpartition("/")[2]
    where = f"txt/{speaker}/{identifier}.txt:1"
    chosen = [name for name in names if _of_microphone(name, mic)]
    if not chosen:
        reason = f"{folder}/{identifier}: no recording of {mic}, only {', '.join(names)}"
        return Failure(identifier, where, "corpus", reason)
    text = read_transcript(root, where.removesuffix(":1"), identifier)
    if isinstance(text, Failure):
        return text
    return Utterance(identifier, text, f"{folder}/{chosen[0]}", where, speaker, meta)


def _read_speakers(path: Path) -> dict[str, dict[str, str | float]]:
    """Return speaker → columns, of the table ID, AGE, GENDER, ACCENTS, REGION, whose cells stand apart by spaces.

    A region may have several words or none, and a remark in parentheses behind it.
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
        # Release 0.80 writes the speakers without the p that their folders have.
        name = f"p{identifier}" if identifier.isdigit() else identifier
        speakers[name] = {"gender": gender, "accent": accent, "region": region}
        if age.isdigit():
            speakers[name]["age"] = int(age)
    return speakers
