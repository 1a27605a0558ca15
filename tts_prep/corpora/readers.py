"""What layouts do not say of VCTK, GigaSpeech, Blizzard, Baker, CSS10, AISHELL-3 and CMU ARCTIC."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tts_prep.corpora.transcripts import chosen_subsets, files_with, read_transcript, subfolders
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import ANONYMOUS, SourceUtterance
from tts_prep.quantities import count_text
from tts_prep.toml_files import word_table

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


_PHRASING: Final = re.compile(r"[@#|]")
_APART: Final = re.compile(r" +(?=[,.;:?!]|'s\b)")


def read_blizzard2013(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``prompts.gui``: a name, a text with marks of prosody, and a line that ends in ``||``.

    Raises:
        CorpusError: there is no such file.
    """
    block: list[tuple[str, str]] = []
    for where, line in read_lines(root / "prompts.gui"):
        if isinstance(line, Failure):
            yield line
            continue
        block.append((where, line.strip()))
        if block[-1][1].endswith("||"):
            yield _of_block(block)
            block = []
    if block:
        yield _of_block(block)


def _of_block(block: Sequence[tuple[str, str]]) -> SourceUtterance | Failure:
    where, name = block[0]
    if len(block) != 3:
        return Failure.of_row(name, where, "expected a name, a text and a line that ends in '||'")
    text = _APART.sub("", " ".join(_PHRASING.sub(" ", block[1][1]).split()))
    return SourceUtterance(name, text, f"wavn/{name}.wav", where, ANONYMOUS)


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
                yield Failure.of_row("", where, "expected segments with 'subsets'")
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
        return Failure.of_row("", where, "expected path, sid, text_tn, begin_time and end_time")
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


_TRANSCRIPT: Final = "transcript.txt"
_LANGUAGES: Final = word_table(
    """
    achtgesichterambiwasse=de meisterfloh=de serapionsbruederauswahl=de Paramythi_horis_onoma=el 19demarzo=es bailen=es
    batalla_arapiles=es ensimmaisetnovellit=fi gulliverin_matkat_kaukaisilla_mailla=fi kaleri-orja=fi lesmis=fr
    salmelan_heinatalkoot=fi lupincontresholme=fr egri_csillagok=hu meian=ja 20000_mijlen=nl early_short_stories=ru
    icemarch=ru shortstories_childrenadults=ru call_to_arms=zh chao_hua_si_she=zh
    """
)
"""The language of each book."""

_ROMANIZED: Final = frozenset({"ja", "zh"})
"""Languages whose third field is a romanization instead of the normalized text."""


def read_css10(root: Path, subsets: Sequence[str] = ()) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``transcript.txt``: ``lesmis/lesmis_0000.wav|text|normalized text|seconds``.

    The root is the folder of one language, or a folder of such folders. The language is recognized by the names of its
    books, and becomes the column ``language``; the book becomes ``book``. The text is the third field, and the second
    one for Japanese and Chinese, whose third field is romanized.

    Args:
        subsets: codes of languages; default: all that exist.

    Raises:
        CorpusError: there is no transcript, or it belongs to another corpus.
        ConfigurationError: a language does not exist.
    """
    folders = css10_languages(root)
    for language in chosen_subsets(root, list(folders), subsets):
        folder = folders[language]
        for place, line in read_lines(root / folder / _TRANSCRIPT):
            where = f"{folder}{place}"
            yield line if isinstance(line, Failure) else _of_css10(where, folder, line, language)


def css10_languages(root: Path) -> dict[str, str]:
    """Return the languages in a folder: code → relative folder with a final ``/``, or an empty string for the root.

    Raises:
        CorpusError: the folder has no language of CSS10.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected a language of CSS10, with {_TRANSCRIPT}")
    folders = [""] if (root / _TRANSCRIPT).exists() else [f"{name}/" for name in subfolders(root)]
    folders = [folder for folder in folders if (root / folder / _TRANSCRIPT).exists()]
    languages = {
        _LANGUAGES[book]: folder for folder in folders for book in _LANGUAGES if (root / folder / book).is_dir()
    }
    if not languages:
        raise CorpusError(
            f"{root}: expected a language of CSS10, with {_TRANSCRIPT} and the folder of a book such as lesmis/, or a "
            "folder of several languages"
        )
    return languages


def _of_css10(where: str, folder: str, line: str, language: str) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split("|")]
    name = PurePosixPath(fields[0])
    if len(fields) != 4 or not name.name:
        reason = f"expected 'recording|text|normalized text|seconds', found {line[:60]!r}"
        return Failure.of_row(name.stem, where, reason)
    has_spoken = language not in _ROMANIZED and bool(fields[2])
    meta = {"language": language, "book": name.parent.name}
    text = fields[2] if has_spoken else fields[1]
    return SourceUtterance(name.stem, text, f"{folder}{name}", where, f"css10-{language}", meta, normalized=has_spoken)


def languages(root: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the languages in a folder, or those of them that are selected."""
    subsets = options.get("subsets")
    return [code for code in css10_languages(root) if not subsets or code in subsets]


TEXTS: Final = ("pinyin", "characters")
"""Values of the option ``text``: the corpus's pinyin, or its characters."""

_BAKER_LIST: Final = "ProsodyLabeling/000001-010000.txt"
_PROSODY: Final = re.compile(r"#[1-4]")
# One sentence contains a full-width letter B, and one a letter P.
_TOKEN: Final = re.compile(r"(?P<mark>#[1-4])|(?P<syllable>[\u3007\u3400-\u9fffA-Za-zＡ-Ｚａ-ｚ])|\S")
_ERHUA: Final = re.compile(r"(?!er)[a-zü:]+r[1-5]")
_SPEAKER_LENGTH: Final = len("SSB0005")
PINYIN: Final = re.compile(r"[a-zü:]+[1-5]")
"""A syllable with its tone."""


def read_baker(root: Path, text: str = "pinyin") -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``ProsodyLabeling/000001-010000.txt`` with their ``Wave/<id>.wav``.

    Each utterance has two lines: ``000001<tab>卡尔普#2陪外孙#1玩滑梯#4。``, and a tab with the pinyin as spoken,
    ``ka2 er2 pu3 …``. A final -r belongs to the previous syllable: 一点儿 is ``yi4 dianr3``.

    Args:
        text: ``"pinyin"``: the text is the pinyin with the marks ``#1`` to ``#4`` and the punctuation of the first
            line, and the characters become the column ``characters``; ``"characters"``: the text is the first line,
            and the pinyin becomes the column ``pinyin``.

    Raises:
        CorpusError: the list or the folder ``Wave`` is missing, or the list is empty.
        ConfigurationError: ``text`` is not one of `TEXTS`.
    """
    _checked(text)
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected the Baker corpus with ProsodyLabeling/ and Wave/")
    lines = read_lines(root / _BAKER_LIST)
    first: tuple[str, str | Failure] | None = next(lines)
    if not (root / "Wave").is_dir():
        raise CorpusError(f"{root / 'Wave'}: no such folder; expected one recording <id>.wav per sentence")
    while first is not None:
        where, line = first
        second = next(lines, None)
        if isinstance(line, Failure):
            yield line
        elif line[0].isspace():
            yield Failure.of_row("", where, "pinyin without a line 'id<tab>characters' before it")
        elif second is None or isinstance(second[1], Failure) or not second[1][0].isspace():
            identifier = line.split(maxsplit=1)[0]
            yield Failure.of_row(identifier, where, "no line with its pinyin follows")
            first = second
            continue
        else:
            yield _of_baker(where, line, second[1].split(), text)
            second = next(lines, None)
        first = second


def _of_baker(where: str, line: str, pinyin: list[str], text: str) -> SourceUtterance | Failure:
    identifier, _, written = line.strip().partition("\t")
    written = written.strip()
    if not written:
        return Failure.of_row(identifier, where, f"expected 'id<tab>characters', found {line[:60]!r}")
    audio = f"Wave/{identifier}.wav"
    characters = _PROSODY.sub("", written)
    if text == "characters":
        return SourceUtterance(identifier, written, audio, where, "baker", {"pinyin": " ".join(pinyin)})
    try:
        marked = with_marks(written, pinyin)
    except ValueError as error:
        return Failure.of_row(identifier, where, str(error))
    return SourceUtterance(identifier, marked, audio, where, "baker", {"characters": characters}, normalized=True)


def with_marks(written: str, pinyin: list[str]) -> str:
    """Insert the prosody marks and the punctuation of a line of characters into its pinyin.

    Raises:
        ValueError: a syllable is not pinyin, or the numbers of syllables and characters differ.
    """
    wrong = [syllable for syllable in pinyin if not PINYIN.fullmatch(syllable)]
    if wrong:
        raise ValueError(f"expected pinyin syllables with tones, found {wrong[0]!r}")
    tokens: list[str] = []
    n_read = 0
    for token in _TOKEN.finditer(written):
        if token.lastgroup != "syllable":
            tokens.append(token[0])
        elif token[0] == "儿" and 0 < n_read <= len(pinyin) and _ERHUA.fullmatch(pinyin[n_read - 1]):
            continue
        else:
            tokens += pinyin[n_read : n_read + 1]
            n_read += 1
    if n_read != len(pinyin):
        raise ValueError(f"{count_text(len(pinyin), 'syllable')} of pinyin for {count_text(n_read, 'character')}")
    return " ".join(tokens)


def pinyin_or_characters(values: dict[str, str], options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a row of AISHELL-3 with the pinyin or the characters of its tokens ``广 guang3 州 zhou1`` as text.

    The speaker is the first seven characters of the id. None is returned for tokens that are no pairs.

    Raises:
        ValueError: a syllable is not pinyin.
        ConfigurationError: the option ``text`` is not one of `TEXTS`.
    """
    text = _checked(options.get("text", "pinyin"))
    tokens = values["_tokens"].split()
    if len(tokens) % 2:
        return None
    if wrong := [token for token in tokens[1::2] if not PINYIN.fullmatch(token)]:
        raise ValueError(f"expected pinyin with a tone after each character, found {wrong[0]!r}")
    characters, pinyin = "".join(tokens[::2]), " ".join(tokens[1::2])
    chosen = (
        {"normalized": pinyin, "characters": characters} if text == "pinyin" else {"text": characters, "pinyin": pinyin}
    )
    return {**values, **chosen, "speaker": values["id"][:_SPEAKER_LENGTH]}


def _checked(text: str) -> str:
    if text not in TEXTS:
        raise ConfigurationError(f"text: expected one of {', '.join(TEXTS)}, found {text!r}")
    return text
