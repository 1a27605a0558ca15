"""Times of the day and durations: ``10:45``, ``7 p.m.``, ``1:02:03``."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import cardinal

_HALF: Final = r"(?P<half> ?[ap](?:\.m\b\.?|m\b))"
_ZONE: Final = r"(?: ?(?P<zone>(?:e|c|m|p)\.?[sd]\.?t|gmt|utc)\b\.?)?"
_CLOCK: Final = re.compile(
    rf"(?<![\d:.])([01]?\d|2[0-4])(?P<mark>[:.])([0-5]\d)(?::([0-5]\d))?(?![\d:]|\.\d){_HALF}?{_ZONE}", re.IGNORECASE
)
_HOUR: Final = re.compile(rf"(?<![\d:.,])(1[0-2]|0?[1-9]){_HALF}(?![a-z]){_ZONE}", re.IGNORECASE)
_LETTERS: Final = re.compile("[a-z]")


def times(text: str) -> str:
    """Return a text with times in words: ``ten forty-five``, ``nine o'clock``, ``seven oh five p.m.`` and so on."""
    return _HOUR.sub(lambda match: cardinal(match[1]) + _behind(match), _CLOCK.sub(_clock, text))


def _clock(match: re.Match[str]) -> str:
    hour, minute, second = int(match[1]), match[3], match[4]
    if match["mark"] == "." and not match["half"]:
        return match[0]
    behind = _behind(match)
    if second:
        parts = [_count(hour, "hour"), _count(int(minute), "minute"), f"and {_count(int(second), 'second')}"]
        return " ".join(parts) + behind
    low = f"oh {cardinal(int(minute))}" if minute[0] == "0" else cardinal(int(minute))
    if minute == "00":
        low = "" if match["half"] else "o'clock"
    return f"{cardinal(hour)} {low}".rstrip() + behind


def _count(number: int, noun: str) -> str:
    return f"{cardinal(number)} {noun}{'s' * (number != 1)}"


def _behind(match: re.Match[str]) -> str:
    half = f" {match['half'].strip()}" if match["half"] else ""
    zone = match["zone"]
    # The dot of "e.s.t." may end the sentence; that of "p.m." is kept.
    return half + (f" {' '.join(_LETTERS.findall(zone.lower())).upper()}" if zone else "")
