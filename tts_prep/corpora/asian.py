"""What layouts do not say of corpora of Mandarin: the reader of Baker, and the pairs of AISHELL-3."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.quantities import count_text

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
