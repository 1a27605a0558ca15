"""Units after numbers: ``5 km``, ``20 °C``, ``5'10"``, ``60 mph``. Only the unit is expanded."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.tables import word_table

# The singular names of units, from which plurals are formed.
_UNITS: Final = word_table(
    """
    km=kilometer cm=centimeter mm=millimeter nm=nanometer μm=micrometer µm=micrometer dm=decimeter m=meter
    kg=kilogram mg=milligram g=gram lb=pound lbs=pound oz=ounce ft=foot yd=yard yds=yard mi=mile
    kHz=kilohertz Hz=hertz MHz=megahertz GHz=gigahertz kW=kilowatt MW=megawatt GW=gigawatt W=watt kWh=kilowatt+hour
    V=volt kV=kilovolt mA=milliampere ml=milliliter mL=milliliter cl=centiliter l=liter L=liter ha=hectare
    KB=kilobyte kB=kilobyte MB=megabyte GB=gigabyte TB=terabyte mph=mile+per+hour kph=kilometer+per+hour
    mbps=megabit+per+second Mbps=megabit+per+second gbps=gigabit+per+second dB=decibel kPa=kilopascal hPa=hectopascal
    ms=millisecond ns=nanosecond min=minute mins=minute hr=hour hrs=hour h=hour sec=second secs=second cal=calorie
    kcal=kilocalorie bpm=beat+per+minute rpm=revolution+per+minute cc=CC gal=gallon pt=pint qt=quart sq=square
    """
)
_PLURALS: Final = {"foot": "feet", "hertz": "hertz", "kilohertz": "kilohertz", "megahertz": "megahertz"}
_PLURALS.update({"gigahertz": "gigahertz", "CC": "CC", "square": "square"})
# Ambiguous abbreviations, which are units only in special contexts.
_ALONE: Final = frozenset(("g", "h", "l", "W", "V", "L", "pt", "min", "cal", "sec", "gal"))
_POWERS: Final = {"²": "square ", "2": "square ", "³": "cubic ", "3": "cubic "}
_NUMBER: Final = (
    r"(?<![\w.,])(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?<=\d)(?: \d+/\d+)?"
    r"(?: (?:hundred|thousand|[mb]illion))?)"
)
_NAMES: Final = "|".join(sorted(map(re.escape, (*_UNITS, "KG", "Kg", "KM")), key=len, reverse=True))
_UNIT: Final = re.compile(
    rf"{_NUMBER}(?P<gap> ?|-)(?P<unit>{_NAMES})(?P<power>[²³]|(?<=[kcm]m)[23]|(?<=m)[23])?"
    rf"(?:/(?P<per>{_NAMES}|s|d|day|hour|second|minute))?(?![\w²³]|\.[A-Za-z]|'[a-z])"
)
_DEGREES: Final = re.compile(rf"{_NUMBER} ?[°º] ?(?P<scale>[CFK]\b)?")
_SCALES: Final = {"C": " Celsius", "F": " Fahrenheit", "K": " kelvin"}
_FEET: Final = re.compile(r"(?<![\w.'])(?P<feet>\d{1,3})' ?(?P<inches>\d{1,2}(?: ?\d/\d)?)(?:\"|'')")
_INCHES: Final = re.compile(r"(?<![\w\"'])(?P<number>\d+(?:\.\d+)?)\"(?=[,.;:)!?]*(?: (?![\w ]*\")|$))(?<!\"\d\")")
_TIMES: Final = re.compile(r"(?<![\w.])(\d+\.\d+)x\b")
_BY: Final = re.compile(r"(?<![\w.])(\d+) ?[x×] ?(\d+)(?= ?(?:[a-z°]|\"|'|$|[ ,.]))")
_PERIOD: Final = word_table("s=second d=day day=day hour=hour second=second minute=minute")


def measures(text: str) -> str:
    """Return a text with units in words and unchanged numbers."""
    if not any(character.isdigit() for character in text):
        return text
    text = _FEET.sub(_feet, text)
    text = _INCHES.sub(_inches, text)
    text = _BY.sub(r"\1 by \2", _TIMES.sub(r"\1 x", text))
    return _UNIT.sub(_unit, _DEGREES.sub(_degrees, text))


def _feet(match: re.Match[str]) -> str:
    feet, inches = match["feet"], match["inches"]
    return f"{feet} {'foot' if feet == '1' else 'feet'} {inches} inch{'es' * (inches != '1')}"


def _inches(match: re.Match[str]) -> str:
    # The sign may close a quotation.
    if match.string.count('"', 0, match.start()) % 2:
        return match[0]
    return f"{match['number']} inch{'es' * (match['number'] != '1')}"


def _degrees(match: re.Match[str]) -> str:
    number = match["number"]
    return f"{number} degree{'s' * (number != '1')}{_SCALES.get(match['scale'] or '', '')}"


def _unit(match: re.Match[str]) -> str:
    number, unit, power = match["number"], match["unit"], match["power"]
    if unit in _ALONE and match["gap"] == " " and not match["per"]:
        return match[0]
    one = _UNITS.get(unit) or _UNITS[unit.lower()]
    # "a 5-km race" and "a .38-cal revolver" name one.
    name = one if number == "1" or match["gap"] == "-" else _plural(one)
    per = match["per"]
    behind = f" per {_PERIOD.get(per) or _UNITS.get(per) or _UNITS[per.lower()]}" if per else ""
    return f"{number}{'-' if match['gap'] == '-' else ' '}{_POWERS.get(power or '', '')}{name}{behind}"


def _plural(name: str) -> str:
    first, _, rest = name.partition(" per ")
    return _PLURALS.get(first, f"{first}s") + (f" per {rest}" if rest else "")
