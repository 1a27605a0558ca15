"""Sino-Korean and native Korean number words."""

from __future__ import annotations

from typing import Final

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
