"""Kinds of texts that frontends would misread, and the language that the texts of a corpus seem to have."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.scripts import (
    COMMON,
    WORD,
    arpabet_phones,
    is_comparable,
    is_labels,
    is_pinyin,
    other_language,
)

# "ni3 hao3": at least half of the words of a text.
_PINYIN: Final = re.compile(r"\b[a-zü]{1,6}[1-5]\b")

_PHONETIC: Final = frozenset("ˈˌːəɪʊɐɑʌɜɚɹɾʃʒ")
"""Symbols of the International Phonetic Alphabet that no common orthography has."""
_RECORDING: Final = re.compile(r"[^\s|]+\.(?:wav|flac|mp3|ogg|opus|m4a)", re.IGNORECASE)


@dataclass(frozen=True)
class TextKind:
    """A kind of texts that are no sentences of a language.

    Attributes:
        name: what the texts look like.
        is_of: whether a text is of this kind.
        instead: what to do with it.
        read_by: the frontend that reads it, if one does.
        read_in: the language whose frontends read it, if it is of one.
    """

    name: str
    is_of: Callable[[str], object]
    instead: str
    read_by: str = ""
    read_in: str = ""

    def is_read(self, frontend: str, language: str) -> bool:
        """Return whether a frontend reads such texts as what they are."""
        return frontend == self.read_by or (self.read_in != "" and subtags(language)[0] == self.read_in)


TEXT_KINDS: Final = (
    TextKind("phonemes (IPA)", _PHONETIC.intersection, "--frontend phonemes does not", "phonemes"),
    TextKind(
        "ARPAbet", lambda text: arpabet_phones(text), "--frontend phonemes --symbols parakeet does not", "phonemes"
    ),
    TextKind("pinyin with tones", is_pinyin, "--language zh does not", "phonemes", "zh"),
    TextKind("labels with times", is_labels, "and numbers for words"),
    TextKind("paths of recordings", _RECORDING.fullmatch, "so look at the order of the columns"),
)
"""What frontends would misread without a remark."""


_KANA: Final = re.compile(r"[\u3041-\u30ff]")
_HANZI: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_ENOUGH_HANZI: Final = 20
_ENOUGH_OF_ALL: Final = 5
"""The number of common words of another language in all texts, from which they are suspicious."""


def language_of_texts(texts: Iterable[str], language: str) -> str | None:
    """Return the language that the texts of a corpus seem to have, if it is not the one that they are read in.

    Many texts together show a language better than each of them: common words are counted in all. Pinyin with tones is
    ``zh``, and so are texts without any kana that are to be Japanese.
    """
    own = subtags(language)[0]
    found: Counter[str] = Counter()
    n_words = n_pinyin = n_hanzi = n_kana = 0
    for text in texts:
        if own == "ja":
            n_kana += len(_KANA.findall(text))
            n_hanzi += len(_HANZI.findall(text))
        lower = text.lower()
        words = WORD.findall(lower)
        n_words += len(words)
        n_pinyin += len(_PINYIN.findall(lower))
        if is_comparable(text, language):
            found.update(filter(None, map(COMMON.get, words)))
    if own not in ("zh", "cmn") and n_words >= _ENOUGH_OF_ALL and 2 * n_pinyin > n_words:
        return "zh"
    if n_hanzi >= _ENOUGH_HANZI and not n_kana:
        return "zh"
    return other_language(found, own, _ENOUGH_OF_ALL)
