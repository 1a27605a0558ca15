"""Normalization of Chinese texts: numbers, dates, times, money, percentages and units in characters.

Each step is a function of the full text. Steps are applied in the order of `_STEPS`, so that a later step sees the
results of earlier ones.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from tts_prep.preprocess.text.typography import without_controls
from tts_prep.toml_files import word_table, word_tables

Match = re.Match[str]

_DIGITS: Final = "零一二三四五六七八九"
_PLACES: Final = ("", "十", "百", "千")
_GROUPS: Final = ("", "万", "亿", "万亿")
_LONGEST: Final = 16
"""The maximum length of a number in words; longer ones are read digit by digit."""


def normalize_chinese(text: str) -> str:
    """Expand a Chinese text to characters; full-width forms become half-width ones."""
    text = unicodedata.normalize("NFKC", without_controls(text).translate(_MARKS))
    for step in _STEPS:
        text = step(text)
    return _SPACE.sub("", text).strip()


def cardinal(digits: str) -> str:
    """Return an integer in characters: ``"10300"`` is 一万零三百."""
    digits = digits.lstrip("0")
    if not digits:
        return "零"
    if len(digits) > _LONGEST:
        return spelled(digits)
    groups = [digits[max(0, end - 4) : end] for end in range(len(digits), 0, -4)]
    words = ""
    for number in range(len(groups) - 1, -1, -1):
        group = groups[number]
        if not group.strip("0"):
            continue
        # A gap of any length before the next digit is read as one zero.
        zero = "零" if words and (group[0] == "0" or not groups[number + 1].strip("0")) else ""
        words += zero + _group(group) + _GROUPS[number]
    return words[1:] if words.startswith("一十") else words


def _group(group: str) -> str:
    words, gap = "", False
    for place, digit in zip(range(len(group) - 1, -1, -1), group, strict=True):
        if digit == "0":
            gap = bool(words)
            continue
        words += ("零" if gap else "") + _DIGITS[int(digit)] + _PLACES[place]
        gap = False
    return words


def spelled(digits: str) -> str:
    """Return digits one by one: ``"2024"`` is 二零二四."""
    return "".join(_DIGITS[int(digit)] for digit in digits)


def decimal(number: str) -> str:
    """Return a number with or without a fraction: ``"3.14"`` is 三点一四."""
    whole, point, fraction = number.replace(",", "").partition(".")
    return cardinal(whole) + (f"点{spelled(fraction)}" if point else "")


# Begins where digits begin, so that the time is linear in the number of digits.
_NUMBER: Final = r"(?<!\d)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_CLASSIFIERS: Final = (
    "个位只条张本件次年天周岁块名家辆台座层双把根颗杯碗瓶斤里克米元万千亿倍种支枝头匹间套份篇首段场届点小"
)
_TABLES: Final = word_tables(__package__)
_UNITS: Final = _TABLES["normalization_units"]
_MONEY: Final = word_table("¥=元 ￥=元 $=美元 US$=美元 €=欧元 £=英镑 HK$=港元 RMB=元")
# Characters that NFKC would replace by letters or marks with another meaning.
_MARKS: Final = {**str.maketrans({"℃": "°C", "㎡": "m²", "㎞": "km", "㎏": "kg", "〇": "零", "²": "²"})}

_UNIT = re.compile(
    rf"({_NUMBER}) ?({'|'.join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))}|m2|m3|km2)(?![A-Za-z0-9])"
)
_AMOUNT = re.compile(rf"({'|'.join(map(re.escape, sorted(_MONEY, key=len, reverse=True)))}) ?({_NUMBER})([万亿千百]*)")
_DATE = re.compile(r"(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR_RANGE = re.compile(r"(?<!\d)(\d{4})[-–—](?=\d{4}年)")
_YEAR = re.compile(r"(?<!\d)(\d{4}|\d{2})(?=年)")
_TIME = re.compile(r"(?<!\d)([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?!\d)")
_TIME_RANGE = re.compile(r"(?<=\d:[0-5]\d)\s?[-–—]\s?(?=\d{1,2}:[0-5]\d)")
# 3:1; with two digits behind the colon, it is a time of the day.
_RATIO = re.compile(r"(?<![\d:])(\d+):(\d|[6-9]\d|\d{3,})(?![\d:])")
_PERCENT = re.compile(rf"({_NUMBER}) ?(%|‰)")
_ALWAYS = re.compile(r"(?<![\d/])24/7(?:/(365))?(?![\d/])")
# 7*24小时: seven by 24 hours.
_BY_HOURS = re.compile(r"(?<![\d.])(7|24) ?[*xX×] ?(24|7)(?=小时|客服|服务|热线|在线|支持)")
_FRACTION = re.compile(r"(?<![\d/])(\d+)/(\d+)(?![\d/])")
_RANGE = re.compile(r"(?<=[\d%CF])\s?[~〜～]\s?(?=-?\d)")
_SPAN = re.compile(r"(?<=\d)[-–—](?=\d+ ?(?:[年月日岁天周次℃%个人元米分小]|°C|km|kg))")
_MINUS = re.compile(r"(?<![\dA-Za-z)])[-−](?=\d)")
_DIFFERENCE = re.compile(r"(?<=\d) ?[-−] ?(?=\d+(?:\.\d+)? ?=)")
_PHONE = re.compile(
    r"(?<![\d.,])(?<=(?:拨打|电话|热线|号码|客服|致电|手机))(\d{3,}(?:[- ]\d{3,})*)(?!\d|\.\d)|"
    r"(?<![\d.,])(?<=[打拨])(1[12]\d|12\d{3}|100(?:00|10|86)|95\d{3})(?![\d.个次场份张元块分下])|"
    r"(?<![\d.,])(1[3-9]\d[- ]?\d{4}[- ]?\d{4}|0\d{2,3}-?\d{7,8}|[1-9]\d{2}-\d{3,4}-?\d{4}|0\d+|\d{17,})(?!\d|\.\d)"
)
_TWO = re.compile(rf"(?<![\d.,:/第])2(?=[{_CLASSIFIERS}])(?!年级|月|号|日)")
_LABEL = re.compile(r"(?<=[A-Za-z])-?(\d+(?:\.\d+)*)")
# A room of three digits or four is read by digit, but for round numbers of rooms.
_ROOM = re.compile(r"(?<![\d.,])([1-9]\d(?!00)\d{1,2})(?=号?[室房](?![价租产东屋]))")
_ABROAD = re.compile(r"\+(\d{1,3})[- ]?(?=1[3-9]\d)")
_PLAIN = re.compile(_NUMBER)


def _units(text: str) -> str:
    return _UNIT.sub(lambda match: match[1] + _UNITS[_SUPERSCRIPTS.get(match[2], match[2])], text)


_SUPERSCRIPTS: Final = {"m2": "m²", "m3": "m³", "km2": "km²", "cm2": "cm²"}


def _money(text: str) -> str:
    return _AMOUNT.sub(lambda match: match[2] + match[3] + _MONEY[match[1]], text)


def _dates(text: str) -> str:
    return _DATE.sub(lambda match: f"{match[1]}年{int(match[3])}月{int(match[4])}日", text)


def _years(text: str) -> str:
    text = _YEAR_RANGE.sub(lambda match: f"{spelled(match[1])}至", text)
    return _YEAR.sub(lambda match: spelled(match[1]), text)


def _times(text: str) -> str:
    def say(match: Match) -> str:
        hour, minute, second = int(match[1]), int(match[2]), match[3]
        spoken = f"{'两' if hour == 2 else cardinal(str(hour))}点"
        if minute or second:
            spoken += ("零" if 0 < minute < 10 else "") + f"{cardinal(str(minute))}分"
        return spoken + (f"{cardinal(second)}秒" if second else "" if minute else "整")

    text = _RATIO.sub(r"\1比\2", _TIME_RANGE.sub("至", text))
    return _TIME.sub(say, text)


def _percentages(text: str) -> str:
    return _PERCENT.sub(lambda match: ("百分之" if match[2] == "%" else "千分之") + decimal(match[1]), text)


def _fractions(text: str) -> str:
    # Around the clock; no fraction.
    text = _ALWAYS.sub(lambda match: "二十四七" + spelled(match[1] or ""), text)
    text = _BY_HOURS.sub(lambda match: f"{cardinal(match[1])}乘{cardinal(match[2])}", text)
    return _FRACTION.sub(lambda match: f"{cardinal(match[2])}分之{cardinal(match[1])}", text)


def _ranges(text: str) -> str:
    return _MINUS.sub("负", _DIFFERENCE.sub("减", _SPAN.sub("至", _RANGE.sub("至", text))))


def _phones(text: str) -> str:
    def say(match: Match) -> str:
        # In telephone numbers, 一 is read yāo.
        called = match[1] or match[2]
        digits = (called or match[3]).replace("-", "").replace(" ", "")
        return spelled(digits).replace("一", "幺") if called or 8 <= len(digits) <= 13 else spelled(digits)

    text = _ROOM.sub(lambda match: spelled(match[1]), text)
    return _PHONE.sub(say, _ABROAD.sub(lambda match: f"加{spelled(match[1])}", text))


def _twos(text: str) -> str:
    return _TWO.sub("两", text)


def _labels(text: str) -> str:
    return _LABEL.sub(lambda match: "点".join(map(spelled, match[1].split("."))), text)


def _numbers(text: str) -> str:
    return _PLAIN.sub(lambda match: decimal(match[0]), text)


# Chinese has no spaces; those of pinyin and of other languages are kept.
_SPACE = re.compile(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])")
_SIGNS: Final = {"+": "加", "×": "乘以", "*": "乘以", "÷": "除以", "=": "等于", "&": "和", "@": "艾特"}
_SIGN = re.compile(r"(?<=[零一二三四五六七八九十百千万亿]) ?([+×*÷=]) ?(?=[零一二三四五六七八九十])|([&@+=])")


def _signs(text: str) -> str:
    return _SIGN.sub(lambda match: _SIGNS[match[1] or match[2]], text)


_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    *(_times, _dates, _years, _phones, _ranges, _units, _money, _percentages, _fractions),
    *(_twos, _labels, _numbers, _signs),
)
