"""Sums of money: ``$21.45``, ``£3.5 million``, ``US$5``, ``$20/mo``."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import cardinal, decimal
from tts_prep.preprocess.text.tables import word_table

NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?!\d)"
"""An integer with or without commas."""

# By sign: unit, units, hundredth, hundredths.
_CURRENCIES: Final = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₩": ("won", "won", "jeon", "jeon"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
}
_PREFIXES: Final = word_table("US=US A=Australian C=Canadian NZ=New+Zealand HK=Hong+Kong")
_SCALES: Final = word_table("k=thousand K=thousand m=million M=million b=billion B=billion bn=billion tn=trillion")
_PERIODS: Final = word_table("mo=month month=month yr=year year=year wk=week week=week d=day day=day hr=hour h=hour")
_SUM: Final = re.compile(
    rf"(?:\b(?P<prefix>{'|'.join(_PREFIXES)}))?(?P<sign>[{''.join(_CURRENCIES)}]) ?"
    rf"(?:(?P<whole>{NUMBER})(?:\.(?P<fraction>\d+))?|\.(?P<only>\d+))"
    rf"(?: (?P<scale>hundred|thousand|[mb]illion|trillion)\b| ?(?P<short>{'|'.join(_SCALES)})\b)?"
    rf"(?:/(?P<period>{'|'.join(_PERIODS)})\b)?"
)


def money(text: str) -> str:
    """Return a text with sums of money in words."""
    return _SUM.sub(_sum, text)


def _sum(match: re.Match[str]) -> str:
    unit, units, hundredth, hundredths = _CURRENCIES[match["sign"]]
    if match["prefix"]:
        unit, units = (f"{_PREFIXES[match['prefix']]} {name}" for name in (unit, units))
    whole = (match["whole"] or "").replace(",", "").lstrip("0") or "0"
    fraction = match["fraction"] or match["only"] or ""
    scale = match["scale"] or _SCALES.get(match["short"] or "", "")
    per = f" per {_PERIODS[match['period']]}" if match["period"] else ""
    if scale:
        return f"{decimal(whole, fraction) if fraction else cardinal(whole)} {scale} {units}{per}"
    named = f"{cardinal(whole)} {unit if whole == '1' else units}"
    # "$20.5" and "$20.500" are twenty dollars, fifty cents; "$20.506" is not a number of cents.
    cents = fraction.rstrip("0")
    if len(cents) > 2:
        return f"{decimal(whole if match['whole'] else '', fraction)} {units}{per}"
    if not cents:
        return named + per
    number = int(f"{cents:0<2}")
    words = f"{cardinal(number)} {hundredth if number == 1 else hundredths}"
    return (words if whole == "0" else f"{named}, {words}") + per
