"""A folder of recordings, each with a text in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.corpora.texts_beside import TextBeside, read_text, text_file
from tts_prep.corpora.transcripts import recordings_below
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.quantities import count_text

SPEAKERS: Final = ("last", "first", "none", *"123456789")
"""Values of the option ``speakers``."""

# Folders that say what is in them, not who speaks.
_PLAIN: Final = frozenset(("wav", "wavs", "audio", "audios", "clips", "recordings", "flac", "mp3", "wav48", "wav24"))


def read_folder(
    root: Path, speakers: str = "last", texts: bool = True, report: Callable[[str], None] = lambda _: None
) -> Iterator[SourceUtterance | Failure]:
    """Yield the recordings below a folder, sorted by path, with the texts beside them.

    The id is the path without its suffix; the folder, relative to the root, becomes the column ``folder``. Objects in
    JSON can have the speaker, the language and further columns.

    Args:
        speakers: the folder that names the speaker: the ``"last"`` or ``"first"`` of the path, its number in the path
            (``"2"``), or ``"none"``. Folders such as ``wavs`` are skipped. If all recordings are of one such speaker,
            or have none, it is ``"0"``.
        texts: whether a recording without a text fails.
        report: called with one line about the speakers.

    Raises:
        CorpusError: the folder is missing or has no recordings, or no recording has a text.
        ConfigurationError: ``speakers`` is not one of `SPEAKERS`.
    """
    if speakers not in SPEAKERS:
        raise ConfigurationError(f"speakers: expected one of {', '.join(SPEAKERS)}, found {speakers!r}")
    names = recordings_below(root)
    files = {name: text_file(root, name) for name in names}
    if texts and not any(files.values()):
        raise CorpusError(
            f"{root}: no recording has a text, such as {PurePosixPath(names[0]).with_suffix('.txt')} or .lab or .json; "
            "'tts-prep recordings' reads recordings without texts"
        )
    spoken_by = _speakers(names, speakers, report)
    numeric: dict[str, bool] = {}
    for name, file in files.items():
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
        missing = Failure(identifier, name, "corpus", f"{name}: no text beside it, such as {path.stem}.txt")
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
            reason = f"{text.where}: {column}: expected a number as in earlier files, found {value[:60]!r}"
            return Failure(identifier, text.where, "corpus", reason)
        meta[column] = f"{value:.15g}"
    return replace(text, meta=meta)


CORPUS = Corpus(
    "folder",
    read_folder,
    r"""Make STORE of a folder of recordings, each with its text in a file beside it: a.wav and a.txt, a.lab or a.json.

    Subfolders are searched too. Texts can also be in a folder beside that of the recordings, such as txt beside wavs.
    An object in a .json has the text, and can have speaker, language and further columns. The folder of a recording
    names its speaker, and becomes a column.

    \b
    Examples:
      tts-prep folder recordings store
      tts-prep folder Emilia/EN store
      tts-prep folder WenetSpeech4TTS/Premium store --language zh --speakers none
    """,
    options=(
        Option(
            "speakers",
            "The folder that names the speaker: the last or the first of a path, its number, or none.  [default: last]",
            choices=SPEAKERS,
        ),
    ),
    layout=(
        ("*.wav", "*.txt"),
        ("*.wav", "*.lab"),
        ("*/*.wav", "*/*.txt"),
        ("*/*.wav", "*/*.lab"),
        ("*.mp3", "*.json"),
    ),
)
