"""Normalization of Korean texts: numbers, dates, units, Latin letters."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.languages.korean.numbers import digits, native, sino
from tts_prep.preprocess.text.tables import word_table

# Counters with native numbers; other nouns use Sino-Korean numbers.
_COUNTERS: Final = [
    "시간",
    "시",
    "명",
    "사람",
    "개",
    "마리",
    "살",
    "잔",
    "병",
    "권",
    "장",
    "대",
    "그루",
    "송이",
    "켤레",
    "채",
    "가지",
    "군데",
    "번",
    "달",
    "벌",
    "통",
    "곳",
    "척",
    "자루",
    "접시",
    "그릇",
    "숟가락",
    "모금",
    "줄",
    "쌍",
    "바퀴",
    "걸음",
    "마디",
    "다발",
    "배",
    "방울",
    "조각",
    "판",
    "단",
    "포기",
    "톨",
]
# 시작 and 장관 start with a counter; 개월 and 번지 use Sino-Korean numbers.
_NOT_COUNTERS: Final = "개월|개국|개년|번지|시작|장관|대학|대한|명령|배송|통신|단계|판매"
_UNITS: Final = word_table(
    """
    %=퍼센트 ℃=도 °C=도 °=도 km/h=킬로미터매시 km=킬로미터 cm=센티미터 mm=밀리미터 m=미터 kg=킬로그램 mg=밀리그램 g=그램
    ml=밀리리터 mL=밀리리터 L=리터 l=리터 ㎞=킬로미터 ㎝=센티미터 ㎜=밀리미터 ㎏=킬로그램 ㎡=제곱미터 GB=기가바이트
    MB=메가바이트 TB=테라바이트 Hz=헤르츠
    """
)
_CURRENCIES: Final = {"₩": "원", "￦": "원", "$": "달러", "€": "유로", "£": "파운드", "¥": "엔"}
_LETTERS: Final = word_table(
    """
    A=에이 B=비 C=씨 D=디 E=이 F=에프 G=지 H=에이치 I=아이 J=제이 K=케이 L=엘 M=엠 N=엔 O=오 P=피 Q=큐 R=알 S=에스 T=티
    U=유 V=브이 W=더블유 X=엑스 Y=와이 Z=지
    """
)
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
