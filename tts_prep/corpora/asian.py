"""Corpora of Mandarin (Baker, AISHELL-3), Japanese (JSUT, JVS) and Korean (KSS)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from tts_prep.corpora.transcripts import chosen_subsets, read_transcript_lists, subfolders, subset_option
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.quantities import count_text

TEXTS: Final = ("pinyin", "characters")
"""Values of the option ``text``: the corpus's pinyin, or its characters."""

TEXT: Final = Option(
    "text",
    "Use the corpus's pinyin or its characters as text; the other becomes a column.  [default: pinyin]",
    choices=TEXTS,
    group="Texts",
)

_BAKER_LIST: Final = "ProsodyLabeling/000001-010000.txt"
_PROSODY: Final = re.compile(r"#[1-4]")
# One sentence contains a full-width letter B, and one a letter P.
_TOKEN: Final = re.compile(r"(?P<mark>#[1-4])|(?P<syllable>[\u3007\u3400-\u9fffA-Za-zＡ-Ｚａ-ｚ])|\S")
_ERHUA: Final = re.compile(r"(?!er)[a-zü:]+r[1-5]")
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
    if text not in TEXTS:
        raise ConfigurationError(f"text: expected one of {', '.join(TEXTS)}, found {text!r}")
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
            yield Failure("", where, "corpus", f"{where}: pinyin without a line 'id<tab>characters' before it")
        elif second is None or isinstance(second[1], Failure) or not second[1][0].isspace():
            identifier = line.split(maxsplit=1)[0]
            yield Failure(identifier, where, "corpus", f"{where}: no line with its pinyin follows")
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
        return Failure(identifier, where, "corpus", f"{where}: expected 'id<tab>characters', found {line[:60]!r}")
    audio = f"Wave/{identifier}.wav"
    characters = _PROSODY.sub("", written)
    if text == "characters":
        return SourceUtterance(identifier, written, audio, where, "baker", {"pinyin": " ".join(pinyin)})
    try:
        marked = with_marks(written, pinyin)
    except ValueError as error:
        return Failure(identifier, where, "corpus", f"{where}: {error}")
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


BAKER = Corpus(
    "baker",
    read_baker,
    r"""Make STORE of the Baker corpus of Mandarin (BZNSYP, CSMSC) at CORPUS.

    CORPUS contains ProsodyLabeling/000001-010000.txt and Wave/<id>.wav. The phonemes are computed from its
    pinyin. Its prosody marks #1 to #4 are kept with --symbols mandarin-prosody.

    \b
    Example:
      tts-prep baker BZNSYP store --symbols mandarin-prosody
    """,
    options=(TEXT,),
    languages=("zh",),
)


_SUBSETS: Final = ("train", "test")
_SPEAKER_LENGTH: Final = len("SSB0005")


def read_aishell3(root: Path, subsets: Sequence[str] = (), text: str = "pinyin") -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``train/content.txt`` and ``test/content.txt``.

    A line is ``SSB00050001.wav<tab>广 guang3 州 zhou1``. Recordings are ``<subset>/wav/<speaker>/<id>.wav``;
    the speaker is the first seven characters of the id. The subset becomes the column ``split``; ``spk-info.txt`` gives
    ``age_group`` (A below 14, B 14 to 25, C 26 to 40, D above), ``gender`` and ``accent``. Texts have no punctuation.

    Args:
        subsets: ``"train"`` or ``"test"``; default: all that exist.
        text: ``"pinyin"``: the text is the pinyin, and the characters become the column ``characters``;
            ``"characters"``: the text is the characters, and the pinyin becomes the column ``pinyin``.

    Raises:
        CorpusError: the folder is not an AISHELL-3 corpus.
        ConfigurationError: a subset does not exist, or ``text`` is not one of `TEXTS`.
    """
    if text not in TEXTS:
        raise ConfigurationError(f"text: expected one of {', '.join(TEXTS)}, found {text!r}")
    existing = [name for name in _SUBSETS if (root / name / "content.txt").exists()]
    if not existing:
        raise CorpusError(f"{root}: expected the AISHELL-3 corpus, with train/content.txt or test/content.txt")
    chosen = chosen_subsets(root, existing, subsets)
    speakers = _read_speakers(root / "spk-info.txt")
    for subset in chosen:
        for place, line in read_lines(root / subset / "content.txt"):
            where = f"{subset}/{place}"
            yield line if isinstance(line, Failure) else _of_aishell3(where, subset, line, text, speakers)


def _of_aishell3(
    where: str, subset: str, line: str, text: str, speakers: dict[str, dict[str, str]]
) -> SourceUtterance | Failure:
    name, tab, content = line.strip().partition("\t")
    identifier = name.removesuffix(".wav")
    tokens = content.split()
    if not tab or not tokens or len(tokens) % 2:
        reason = f"{where}: expected '<id>.wav<tab>character pinyin character pinyin …', found {line[:60]!r}"
        return Failure(identifier, where, "corpus", reason)
    wrong = [token for token in tokens[1::2] if not PINYIN.fullmatch(token)]
    if wrong:
        reason = f"{where}: expected pinyin with a tone after each character, found {wrong[0]!r}"
        return Failure(identifier, where, "corpus", reason)
    characters, pinyin = "".join(tokens[::2]), " ".join(tokens[1::2])
    speaker = identifier[:_SPEAKER_LENGTH]
    chosen, column, other = (pinyin, "characters", characters) if text == "pinyin" else (characters, "pinyin", pinyin)
    meta = {"split": subset, **speakers.get(speaker, {}), column: other}
    audio = f"{subset}/wav/{speaker}/{identifier}.wav"
    return SourceUtterance(identifier, chosen, audio, where, speaker, meta, normalized=text == "pinyin")


def _read_speakers(path: Path) -> dict[str, dict[str, str]]:
    """Return speaker → columns from lines such as ``SSB0005 B female north``; lines that start with # are comments."""
    speakers: dict[str, dict[str, str]] = {}
    for where, line in read_lines(path) if path.exists() else ():
        if isinstance(line, Failure):
            raise CorpusError(line.reason)
        fields = line.split()
        if fields[0].startswith("#"):
            continue
        if len(fields) != 4:
            raise CorpusError(f"{where}: expected 'speaker age-group gender accent', found {len(fields)} fields")
        speakers[fields[0]] = dict(zip(("age_group", "gender", "accent"), fields[1:], strict=True))
    return speakers


AISHELL3 = Corpus(
    "aishell3",
    read_aishell3,
    r"""Make STORE of the AISHELL-3 corpus of Mandarin at CORPUS.

    CORPUS contains train and test, each with content.txt and wav/<speaker>/<id>.wav, and spk-info.txt. The
    subset becomes the column split; age group, gender and accent of the speakers are columns too.

    \b
    Example:
      tts-prep aishell3 data_aishell3 store --subset train
    """,
    options=(subset_option("train"), TEXT),
    languages=("zh",),
)


_JSUT_TRANSCRIPT: Final = "transcript_utf8.txt"


def read_jsut(root: Path, subsets: Sequence[str] = ()) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<subset>/transcript_utf8.txt`` with ``<subset>/wav/<id>.wav``.

    A line is ``BASIC5000_0001:text``. The subset, such as ``basic5000``, becomes the column ``subset``.

    Args:
        subsets: names of subsets; default: all that exist.

    Raises:
        CorpusError: no folder in the root has a transcript.
        ConfigurationError: a subset does not exist.
    """
    if not root.is_dir():
        raise CorpusError(f"{root}: no such folder; expected the JSUT corpus, with basic5000/{_JSUT_TRANSCRIPT}")
    existing = [name for name in subfolders(root) if (root / name / _JSUT_TRANSCRIPT).exists()]
    if not existing:
        hint = f"; use {root.parent} with --subset {root.name}" if (root / _JSUT_TRANSCRIPT).exists() else ""
        raise CorpusError(f"{root}: expected the JSUT corpus, with folders such as basic5000/{_JSUT_TRANSCRIPT}{hint}")
    for subset in chosen_subsets(root, existing, subsets):
        for place, line in read_lines(root / subset / _JSUT_TRANSCRIPT):
            where = f"{subset}/{place}"
            if isinstance(line, Failure):
                yield line
                continue
            # A text may contain colons.
            identifier, colon, text = (part.strip() for part in line.partition(":"))
            if not (identifier and colon and text):
                yield Failure(identifier, where, "corpus", f"{where}: expected 'id:text', found {line[:60]!r}")
                continue
            yield SourceUtterance(identifier, text, f"{subset}/wav/{identifier}.wav", where, "jsut", {"subset": subset})


JSUT = Corpus(
    "jsut",
    read_jsut,
    r"""Make STORE of the JSUT corpus of Japanese at CORPUS.

    CORPUS contains basic5000 and other subsets, each with transcript_utf8.txt and wav/<id>.wav.

    \b
    Example:
      tts-prep jsut jsut_ver1.1 store --subset basic5000
    """,
    options=(subset_option("basic5000"),),
    languages=("ja",),
)


def read_jvs(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``<speaker>/<style>/transcripts_utf8.txt``, lines ``id:text``.

    Recordings are ``wav24kHz16bit/<id>.wav`` beside the list. The style, such as ``parallel100`` or ``whisper10``,
    becomes the column ``style``. The id starts with the speaker, because speakers read the same sentences.

    Raises:
        CorpusError: there is no such list.
    """
    return read_transcript_lists(root, "**/transcripts_utf8.txt", r"(?P<id>[^:]+):(?P<text>.+)", _of_jvs, "'id:text'")


def _of_jvs(folder: PurePosixPath, names: tuple[str, ...], line: re.Match[str], where: str) -> SourceUtterance:
    speaker, style = (("", *names))[-2:]
    audio = f"{folder / 'wav24kHz16bit' / line['id']}.wav"
    return SourceUtterance(f"{speaker}-{style}-{line['id']}", line["text"], audio, where, speaker, {"style": style})


JVS = Corpus(
    "jvs",
    read_jvs,
    r"""Make STORE of the JVS corpus of Japanese at CORPUS.

    CORPUS contains jvs001 to jvs100, each with parallel100 and other styles with transcripts_utf8.txt and
    wav24kHz16bit/<id>.wav. The style becomes a column.

    \b
    Example:
      tts-prep jvs jvs_ver1 store
    """,
    languages=("ja",),
    layout=(("jvs*/*/transcripts_utf8.txt",),),
)


_TRANSCRIPTS: Final = "transcript*.txt"


def read_kss(root: Path) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``transcript.v.1.4.txt`` with their recordings, such as ``1/1_0000.wav``.

    The fields are the recording, the original text, the normalized text, the normalized text decomposed into jamo, the
    duration in seconds, and an English translation, which becomes the column ``translation``. The normalized text is
    used. Earlier versions lack the translation, and the first version also lacks the normalized text. If there are
    several transcripts, the latest version is read. The recordings are next to the transcript, or in ``kss/`` as in
    the archive.

    Raises:
        CorpusError: there is no transcript, or it is empty.
    """
    transcripts = sorted(root.glob(_TRANSCRIPTS))
    if not transcripts:
        raise CorpusError(f"{root}: expected the KSS corpus, with transcript.v.1.4.txt and the folders 1, 2, 3 and 4")
    folder = "kss/" if (root / "kss").is_dir() and not (root / "1").is_dir() else ""
    for where, line in read_lines(transcripts[-1]):
        yield line if isinstance(line, Failure) else _of_kss(where, line, folder)


def _of_kss(where: str, line: str, folder: str) -> SourceUtterance | Failure:
    fields = [field.strip() for field in line.split("|")]
    name = PurePosixPath(fields[0])
    if len(fields) not in (4, 5, 6) or not name.name:
        reason = f"{where}: expected 'recording|text|text as spoken|jamo|seconds|translation', found {line[:60]!r}"
        return Failure(name.stem, where, "corpus", reason)
    # With four fields, the third is the original text decomposed into jamo.
    has_spoken = len(fields) > 4 and bool(fields[2])
    meta = {"translation": fields[5]} if len(fields) == 6 else {}
    text = fields[2] if has_spoken else fields[1]
    return SourceUtterance(name.stem, text, f"{folder}{name}", where, "kss", meta, normalized=has_spoken)


KSS = Corpus(
    "kss",
    read_kss,
    r"""Make STORE of the Korean Single Speaker corpus at CORPUS.

    CORPUS contains transcript.v.1.4.txt and the folders 1 to 4. Phonemes are computed from the text
    with expanded numbers; the translation becomes a column.

    \b
    Example:
      tts-prep kss kss store
    """,
    languages=("ko",),
)
