"""Ranges: ``1914–18``, ``pages 3-5``, ``$50-$100``, ``2-5 kg``, ``5pm-7pm``."""

from __future__ import annotations

import re
from typing import Final

_YEARS: Final = re.compile(r"(?<![\w,.$£€/-])(1[1-9]\d\d|20\d\d)(s?)[-–—](1[1-9]\d\d|20\d\d|\d\d)(s?)\b(?![-–,/.]?\d)")
_DASH: Final = re.compile(r"(?<=\d)(?P<sign>[°%\"']?) ?– ?(?=[$£€]?\.?\d)")
_SUMS: Final = re.compile(r"([$£€]\d[\d,]*(?:\.\d+)?)-(?=[$£€]?\d)")
_HALVES: Final = re.compile(r"(?<=\d)( ?[ap]\.?m\.?) ?- ?(?=\d)", re.IGNORECASE)
_MEASURED: Final = re.compile(
    r"(?<![\w,./-])(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)(?= ?(?:%|°|(?:kg|km|cm|mm|lbs?|oz|ft|mph|m|g)\b|"
    r"(?:percent|years?|days?|hours?|minutes?|seconds?|miles?|weeks?|months?|dollars|pounds|degrees|feet|inches|people)\b))"
)
_COUNTED: Final = re.compile(r"(?i)\b(pages?|pp\.|ages?|aged|chapters?|verses?|lines?|between|rows?) (\d+)-(?=\d)")


def ranges(text: str) -> str:
    """Return a text with dashes and hyphens of ranges replaced by ``to``.

    A hyphen between numbers can also be a score or a code, so it is replaced only if the context indicates a range.
    """
    if "-" not in text and "–" not in text and "—" not in text:
        return text
    text = _YEARS.sub(_years, text)
    text = _SUMS.sub(r"\1 to ", _DASH.sub(r"\g<sign> to ", text))
    text = _HALVES.sub(r"\1 to ", text)
    return _COUNTED.sub(r"\1 \2 to ", _MEASURED.sub(r"\1 to \2", text))


def _years(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]} to {match[3]}{match[4]}"
