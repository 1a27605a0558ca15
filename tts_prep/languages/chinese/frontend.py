"""Mandarin by pypinyin: initials and finals with tones, pinyin, or IPA.

pypinyin, rjieba, which segments words (both MIT), and OpenCC, which converts traditional characters (Apache-2.0), are
optional dependencies. Only this module imports them.
"""

import importlib.metadata
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.chinese import pinyin
from tts_prep.languages.chinese.latin import is_initials, spoken_latin
from tts_prep.languages.chinese.normalization import normalize_chinese
from tts_prep.languages.chinese.pinyin import Syllable
from tts_prep.languages.latin import english
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.vocab import Vocab

STYLES: Final = ("phones", "pinyin", "ipa")

_HANZI: Final = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_ACCENTED: Final = "À-ÖØ-öø-ɏ"
_TOKEN: Final = re.compile(
    rf"(?P<hanzi>[{_HANZI}]+)|(?P<prosody>#[1-5])|(?P<latin>[A-Za-z{_ACCENTED}:]*[A-Za-z{_ACCENTED}]"
    r"(?:['’](?:[smdt]|re|ve|ll)(?![A-Za-z]))?\d?)|(?P<space>\s+)|(?P<mark>.)",
    re.DOTALL,
)
_ANY_HANZI: Final = re.compile(f"[{_HANZI}]")
_PROSODY: Final = re.compile(r"(#[1-5])")
_MARKS: Final = {
    **dict.fromkeys("，,、､", ","),
    **dict.fromkeys("。｡．.", "."),
    **dict.fromkeys("？?", "?"),
    **dict.fromkeys("！!", "!"),
    **dict.fromkeys("；;", ";"),
    **dict.fromkeys("：:", ":"),
    **dict.fromkeys("…⋯", "…"),
    **dict.fromkeys("—–―─～~", "—"),
}
_FULL_WIDTH: Final = {",": "，", ".": "。", "?": "？", "!": "！"}
_SEMIVOWELS: Final = ("y", "w")
# FastSpeech2's lexicon has y iou and w uen for these.
_OWN_FINALS: Final = {"yo": "io", "weng": "ueng"}
_NEAREST: Final = {"…": ".", "—": ",", ";": ",", ":": ","}
_SILENT: Final = frozenset("\"'“”‘’「」『』《》〈〉【】〔〕()（）[]{}<>«»·・‧-_/|*#\\")
_PAUSES: Final = frozenset(",.?!;:…—")
# The most frequent readings of characters that are single words, where they differ from the dictionary's first one.
_SINGLE: Final = {"得": "de5", "地": "de5", "着": "zhe5", "了": "le5", "的": "de5", "还": "hai2"}
# What one returns: before these, 还 is the verb.
_RETURNED: Final = tuple("钱书款债账")
# Interjections without a vowel, or with a vowel that no other syllable has.
_INTERJECTIONS: Final = {"m": "mu", "n": "en", "ng": "en", "hm": "heng", "hng": "heng", "ê": "ei"}
# Characters before 儿 as a full syllable: words in which it means child, and poetic ones.
_FULL_ER: Final = frozenset("女婴幼孤少胎健男小混宠产患新育托")
_PREFIX: Final = "@"
_SILENCES: Final = frozenset(("sp", "spn", "sil"))
"""Pauses of an aligner in pinyin."""


class MandarinFrontend(frontends.VocabFrontend):
    """Mandarin Chinese, with tone sandhi.

    Phonemes as text are symbols separated by spaces: initials and finals with tones, as in AISHELL-3 and FastSpeech2
    (``zh ong1 g uo2``); in the style ``pinyin``, syllables (``zhong1 guo2``). In the style ``ipa`` they are words in
    IPA with arrows for tones. A text can also be pinyin, ``zhong1 guo2``, whose tones do not change. Prosody marks,
    ``#1`` to ``#4``, are kept if they are in the table. Latin words are read by letter or as English, in syllables of
    Mandarin. Full-width marks become half-width ones; quotes and brackets are not spoken.

    Args:
        language: a code of Mandarin.
        style: one of `STYLES`.
        options: see `frontend.VocabFrontend`. Punctuation is ignored: marks are separate symbols.

    Raises:
        ConfigurationError: the language is not Mandarin, or an option is invalid.
        MissingPackageError: pypinyin is not installed.
    """

    def __init__(self, language: str = "zh", *, style: str = "phones", **options: Any) -> None:
        frontends.check_choice("style", style, STYLES)
        if not is_mandarin(language):
            raise ConfigurationError(
                f"language: the frontend 'mandarin' supports Mandarin only, found {_named(language)}; use --language zh"
            )
        table = {"phones": "mandarin", "pinyin": "mandarin-pinyin", "ipa": "espeak"}[style]
        super().__init__(Vocab.from_table(get_table(table)), **options)
        self.spaced = style != "ipa"
        self._style = style
        self._pypinyin, self._jieba, self._simplified = _import_packages()

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Expand numbers, dates, times, money and units to characters; pinyin and marks such as #1 are unchanged."""
        if _is_all_pinyin(text):
            return text
        # Each piece separately, because the digit of a mark is not a number.
        return "".join(piece if i % 2 else normalize_chinese(piece) for i, piece in enumerate(_PROSODY.split(text)))

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phonemes as text.

        Raises:
            TextError: there is nothing to speak, the text is not Mandarin, it has digits, or it is pinyin with a word
                that is none.
        """
        if language is not None and not is_mandarin(language):
            raise TextError(f"the frontend 'mandarin' supports Mandarin only, the text is in {_named(language)}")
        elements = list(self._elements(text))
        if not any(isinstance(element, Syllable) for element in elements):
            raise TextError(f"nothing to speak in {text[:60]!r}" if text.strip() else "the text is empty")
        if self._style == "ipa":
            return _ipa(elements)
        return frontends.join_symbols(symbol for element in _spoken(elements) for symbol in self._symbols(element))

    def _elements(self, text: str) -> Iterator[Syllable | str]:
        """Yield the syllables of a text before tone sandhi, and its marks."""
        number = 0
        for match in _TOKEN.finditer(text):
            kind, token = str(match.lastgroup), match[0]
            if kind == "hanzi":
                for word in self._words(self._simplified(token)):
                    number += 1
                    yield from (Syllable(character, reading, number) for character, reading in word)
            elif kind == "latin" and pinyin.is_pinyin(token):
                number += 1
                yield Syllable("", _INTERJECTIONS.get(token[:-1], token[:-1]) + token[-1], number)
            elif kind == "latin" and token not in _SILENCES:
                if not is_initials(token) and (token[-1].isdigit() or _is_toned(text)):
                    raise TextError(
                        f"expected pinyin with tones of 1 to 5, found {token[:20]!r}; write it in characters"
                    )
                number += 1
                yield from (Syllable("", reading, number) for reading in spoken_latin(token))
            elif token.isdigit():
                raise TextError(f"a digit, {token!r}, in {text[:60]!r}; drop --no-normalize")
            elif kind != "space" and token not in _SILENT:
                yield from self._mark(_MARKS.get(token, token))

    def _words(self, characters: str) -> Iterator[list[tuple[str, str]]]:
        """Segment characters into words, each a list of pairs (character, pinyin)."""
        pypinyin = self._pypinyin
        words = self._jieba.cut(characters)
        others = pinyin.readings(characters)
        end = 0
        for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
            start, end = end, end + len(word)
            if len(word) == 1 and word in _SINGLE:
                read_alone = pinyin.single_de(characters[:start], following) if word == "得" else _SINGLE[word]
                yield [(word, "huan2" if word == "还" and following[:1] in _RETURNED else read_alone)]
                continue
            read = pypinyin.lazy_pinyin(
                word, style=pypinyin.Style.TONE3, neutral_tone_with_five=True, errors=lambda _: None
            )
            if len(read) != len(word):
                raise TextError(f"no pinyin for a character in {word[:20]!r}")
            pairs = [(c, _INTERJECTIONS.get(p[:-1], p[:-1]) + p[-1]) for c, p in zip(word, read, strict=True)]
            pairs = [(c, others.get(start + place, p)) for place, (c, p) in enumerate(pairs)] if others else pairs
            if len(word) == 3 and word[1] == "得" and word[0] not in "不只非":
                pairs[1] = ("得", "de5")
            if word in pinyin.NEUTRAL:
                pairs[-1] = (pairs[-1][0], f"{pairs[-1][1][:-1]}5")
            # 小老虎 is 小 and 老虎, but 展览馆 is 展览 and 馆: third tones change first inside words of two.
            if len(word) == 3 and self._jieba.has_word(word[1:]) and not self._jieba.has_word(word[:2]):
                yield pairs[:1]
                pairs = pairs[1:]
            yield pairs

    def _mark(self, mark: str) -> list[str]:
        """Return the mark or a similar one in the table; [] for marks of prosody and silence not in the table."""
        while mark not in self.vocab and mark in _NEAREST:
            mark = _NEAREST[mark]
        if mark not in self.vocab and _FULL_WIDTH.get(mark, mark) in self.vocab:
            mark = _FULL_WIDTH[mark]
        optional = mark[0] == "#" or mark in _SILENCES
        return [] if optional and mark not in self.vocab else [mark]

    def _symbols(self, element: Syllable | str) -> list[str]:
        if isinstance(element, str):
            symbols = [element]
        elif self._style == "pinyin":
            symbols = [element.pinyin.lower().replace("ü", "v").replace("u:", "v")]
        else:
            symbols = self._spelled(element.pinyin)
        return [_PREFIX + symbol if self.vocab.lookup(_PREFIX + symbol) is not None else symbol for symbol in symbols]

    def _spelled(self, syllable: str) -> list[str]:
        """Return the symbols of a syllable. PaddleSpeech's table lacks the initials y and w, and has erhua finals."""
        phones = pinyin.initial_and_final(syllable)
        if phones[0] in _SEMIVOWELS and phones[0] not in self.vocab:
            final = _OWN_FINALS.get(syllable[:-1].removesuffix("r"))
            phones = [final + syllable[-1] if final else phones[1], *phones[2:]]
        if phones[-1] == pinyin.ERHUA and pinyin.ERHUA not in self.vocab:
            phones = [*phones[:-2], f"{phones[-2][:-1]}r{phones[-2][-1]}"]
        return phones

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, words read as English, hyphens that are not spoken, and texts not in Mandarin."""
        yield from super().remarks(text, phonemes, language)
        for token in (match["latin"] for match in _TOKEN.finditer(text)):
            if token and not (is_initials(token) or pinyin.is_pinyin(token) or token in _SILENCES):
                yield frontends.OTHER_LANGUAGE, f"en: {token}"
        yield from frontends.remarks_of_script(text, "zh")

    def software(self) -> dict[str, str]:
        """Return the versions of the packages for words and pinyin, and of espeak-ng for English words."""
        packages = {name: importlib.metadata.version(name) for name in ("opencc", "pypinyin", "rjieba")}
        return {**packages, **english().software()}


mandarin_pinyin = partial(MandarinFrontend, style="pinyin")
mandarin_ipa = partial(MandarinFrontend, style="ipa")


def is_mandarin(language: str) -> bool:
    """Return whether a language code is one of Mandarin: ``zh``, ``zh-cn``, ``cmn`` and the like."""
    codes = subtags(language)
    return codes[0] in ("zh", "cmn") and not _CANTONESE.intersection(codes)


_CANTONESE: Final = frozenset(("hk", "mo", "yue"))


def _named(language: str) -> str:
    is_cantonese = _CANTONESE.intersection(subtags(language))
    return f"{language!r}, which is Cantonese: the frontend espeak reads it" if is_cantonese else repr(language)


def _is_all_pinyin(text: str) -> bool:
    tokens = re.findall(r"#?\w+", text)
    return bool(tokens) and all(token in _SILENCES or token[0] == "#" or pinyin.is_pinyin(token) for token in tokens)


def _is_toned(text: str) -> bool:
    """Return whether a text has pinyin with tones, and no Chinese characters: its other words are no English."""
    return not _ANY_HANZI.search(text) and any(map(pinyin.is_pinyin, text.split()))


def _spoken(elements: Sequence[Syllable | str]) -> list[Syllable | str]:
    """Apply erhua and tone sandhi to elements. Sandhi does not extend across pauses."""
    result: list[Syllable | str] = []
    for pause, group in itertools.groupby(_with_erhua(elements), lambda element: element in _PAUSES):
        phrase = list(group)
        # Prosody marks do not interrupt a phrase.
        tones = iter(
            () if pause else pinyin.spoken_tones([element for element in phrase if isinstance(element, Syllable)])
        )
        result += [element if isinstance(element, str) else next(tones) for element in phrase]
    return result


def _with_erhua(elements: Sequence[Syllable | str]) -> list[Syllable | str]:
    """Merge 儿 as a suffix with the previous syllable."""
    result: list[Syllable | str] = []
    words = Counter(element.word for element in elements if isinstance(element, Syllable))
    for element in elements:
        last = result[-1] if result else None
        if isinstance(element, Syllable) and isinstance(last, Syllable) and element.character == "儿":
            # It starts a word in 儿子, 儿童, 儿女.
            begins = element.word != last.word and words[element.word] > 1
            if not begins and last.character not in _FULL_ER and last.pinyin[-2] != "r":
                result[-1] = replace(last, pinyin=f"{last.pinyin[:-1]}r{last.tone}")
                continue
        result.append(element)
    return result


def _ipa(elements: Sequence[Syllable | str]) -> str:
    text, word = "", 0
    for element in _spoken(elements):
        if isinstance(element, str):
            text += element
            continue
        text += (" " if text and element.word != word else "") + pinyin.ipa(element.pinyin)
        word = element.word
    return text


def _simplifier() -> Callable[[str], str]:
    """Return the conversion of traditional characters: words are segmented and read in simplified ones."""
    import opencc

    convert: Callable[[str], str] = opencc.OpenCC("t2s").convert
    return convert


def _import_packages() -> tuple[Any, Any, Callable[[str], str]]:
    try:
        import opencc  # noqa: F401 - only whether it is installed
        import pypinyin
        import rjieba
    except ImportError as error:
        raise MissingPackageError(
            f"the frontend 'mandarin' needs the package {error.name}; install it with: pip install 'tts-prep[zh]'"
        ) from None
    return pypinyin, frontends.made_once(rjieba.Jieba), frontends.made_once(_simplifier)
