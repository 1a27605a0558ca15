"""Sums of money and measures: ``$21.45``, ``£3.5 million``, ``$20/mo``, ``5 km``, ``20 °C``, ``5'10"``, ``60 mph``."""

import re
from typing import Final

from tts_prep.english.numbers import cardinal, decimal
from tts_prep.english.signs import sign_before_number, sign_between_numbers, with_fractions
from tts_prep.toml_files import word_table, word_tables

NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?!\d)"
"""An integer with or without commas."""

_TABLES: Final = word_tables(__package__)
# By sign: unit, units, hundredth, hundredths.
_CURRENCIES: Final = {sign: names.split("|") for sign, names in _TABLES["currencies"].items()}
_PREFIXES: Final = _TABLES["currency_prefixes"]
_SCALES: Final = word_table(
    "k=thousand K=thousand m=million M=million mn=million b=billion B=billion bn=billion tn=trillion"
)
_PERIODS: Final = word_table("mo=month month=month yr=year year=year wk=week week=week d=day day=day hr=hour h=hour")
_SUM: Final = re.compile(
    rf"(?:\b(?P<prefix>{'|'.join(_PREFIXES)}))?(?P<sign>[{''.join(_CURRENCIES)}]) ?"
    rf"(?:(?P<whole>{NUMBER})(?:\.(?P<fraction>\d+))?|\.(?P<only>\d+))"
    rf"(?: (?P<scale>hundred|thousand|[mb]illion|trillion)\b| ?(?P<short>{'|'.join(_SCALES)})\b)?"
    rf"(?:/(?P<period>{'|'.join(_PERIODS)}|[a-z]{{2,}})\b)?"
)
# "the $40m deal" describes a noun; "the $40m he owes" does not.
_PRICED: Final = re.compile(
    r" (?:bill|bond|bonus|budget|coin|contract|deal|fee|fine|fund|grant|investment|loan|mark|note|price|prize|project|"
    r"question|reward|settlement|stake|stock|ticket|note|gift|lottery|lawsuit|mansion|takeover|merger)\b"
)
_DEFINITE: Final = re.compile(r"\b(?:[Tt]he|[Tt]h(?:is|at)|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Oo]ur|[Mm]y|[Yy]our) $")


# "30€" and "99¢"; "Rs. 500".
_SIGN_BEHIND: Final = re.compile(rf"(?<![\w.,$£€¥])({NUMBER}(?:\.\d\d?)?) ?([€£¥₩₹₽₺₱₦₪₫฿₴₿])(?![\d])")
_CENTS: Final = re.compile(r"(?<![\w.,])(\d+) ?¢")
_RUPEES: Final = re.compile(r"\b(?:Rs\.? ?|INR )(?=\d)")
# "$10-20": the sign belongs to both.
_FROM_TO: Final = re.compile(rf"([$£€¥₹])({NUMBER}(?:\.\d\d)?) ?[-–] ?(?={NUMBER})")


_COMPARED: Final = re.compile(rf"([<>≤≥≈~±]) ?(?=(?:-|minus )?(?:{'|'.join(_PREFIXES)})?[{''.join(_CURRENCIES)}]\.?\d)")


def money(text: str) -> str:
    """Return a text with sums of money in words."""
    if any(sign in text for sign in "<>≤≥≈~±"):
        text = _COMPARED.sub(_compared, text)
    text = _RUPEES.sub("₹", _FROM_TO.sub(r"\2 to \1", text))
    text = _SIGN_BEHIND.sub(r"\2\1", text)
    text = _CENTS.sub(lambda match: _apart(match, f"{cardinal(match[1])} cent{'s' * (match[1] != '1')}"), text)
    return _SUM.sub(lambda match: _apart(match, _sum(match)), text)


def _compared(match: re.Match[str]) -> str:
    behind_number = match.string[: match.start()].rstrip()[-1:].isdigit()
    return f" {sign_between_numbers(match[1]) if behind_number else sign_before_number(match[1])} "


def _apart(match: re.Match[str], words: str) -> str:
    """Return words with a space before and behind them where a letter or digit is: ``7€x``."""
    before, behind = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    return f"{' ' * before.isalnum()}{words}{' ' * behind.isalnum()}"


# "a $5 bill" names one, as "a 10 km race" does.
_ARTICLE: Final = re.compile(r"(?:^|[^\w'])[Aa]n? $")
_NOUN: Final = re.compile(
    r" (?!(?:a|an|and|or|per|in|on|at|to|for|from|of|is|was|each|now|every|by|more|less)\b)[a-z]{2}"
)


def _names_one(match: re.Match[str]) -> bool:
    """Return whether a quantity describes a noun, so that its unit is in the singular."""
    before = match.string[max(0, match.start() - 4) : match.start()]
    return bool(_ARTICLE.search(before) and _NOUN.match(match.string, match.end())) or (
        _PRICED.match(match.string, match.end()) is not None
        and _DEFINITE.search(match.string[max(0, match.start() - 8) : match.start()]) is not None
    )


def _sum(match: re.Match[str]) -> str:
    unit, units, hundredth, hundredths = _CURRENCIES[match["sign"]]
    if match["prefix"]:
        unit, units = (f"{_PREFIXES[match['prefix']]} {name}" for name in (unit, units))
    if _names_one(match):
        units = unit
    whole = (match["whole"] or "").replace(",", "").lstrip("0") or "0"
    fraction = match["fraction"] or match["only"] or ""
    scale = match["scale"] or _SCALES.get(match["short"] or "", "")
    period = match["period"]
    per = f" per {_PERIODS.get(period) or UNITS.get(period) or period}" if period else ""
    if scale:
        return f"{decimal(whole, fraction) if fraction else cardinal(whole)} {scale} {units}{per}"
    named = f"{cardinal(whole)} {unit if whole == '1' else units}"
    # "$20.5" and "$20.500" are twenty dollars, fifty cents; "$20.506" is not a number of cents, and yen have none.
    cents = fraction.rstrip("0")
    if len(cents) > 2 or (cents and not hundredths):
        return f"{decimal(whole if match['whole'] else '', fraction)} {units}{per}"
    if not cents:
        return named + per
    number = int(f"{cents:0<2}")
    words = f"{cardinal(number)} {hundredth if number == 1 else hundredths}"
    return (words if whole == "0" else f"{named}, {words}") + per


# The singular names of units, from which plurals are formed.
UNITS: Final = _TABLES["quantities_units"]
_PLURALS: Final = _TABLES["quantities_plurals"]
# Ambiguous abbreviations, which are units only in special contexts.
_ALONE: Final = frozenset(("g", "h", "l", "s", "t", "W", "V", "L", "pt", "hp"))
# What follows a unit, not another word that looks like one: "100 W bulb", "1.5 h.", but "5 W Main Street".
_AFTER_ALONE: Final = re.compile(r"[.,;:)]|$| [a-z(]| [AD]C\b")
# Words more often than units: "3 bar stools", "in 2010 MP for Bath".
_RARE: Final = frozenset(("t", "bar", "MP", "Ah", "Pa", "PB", "kn", "mol", "atm", "fps", "px"))
_AFTER_RARE: Final = re.compile(
    r"[.,;:)]|$| \(| (?:of|per|at|and|or|to|is|are|was|were|in|over|truck|load|lorry|camera|battery)\b"
)
_IN_YEAR: Final = re.compile(r"\b[Ii]n (?:1[5-9]|20)\d\d $")
_POWERS: Final = {"²": "square ", "2": "square ", "³": "cubic ", "3": "cubic "}
_MEASURED_NUMBER: Final = (
    r"(?<![\w.,])(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?<=\d)(?: \d+/\d+)?"
    r"(?: (?:hundred|thousand|[mb]illion))?)"
)
_NAMES: Final = "|".join(sorted(map(re.escape, (*UNITS, "KG", "Kg", "KM")), key=len, reverse=True))
_UNIT: Final = re.compile(
    rf"{_MEASURED_NUMBER}(?P<gap> ?|-)(?P<unit>{_NAMES})(?P<power>[²³]|(?<=[kcm]m)[23]|(?<=m)[23])?"
    rf"(?:/(?P<per>{_NAMES}|s|d|day|hour|second|minute))?(?![\w²³]|\.[A-Za-z]|'[a-z])"
)
_DEGREES: Final = re.compile(rf"{_MEASURED_NUMBER} ?[°º](?: ?(?P<scale>[CFK])\b)?")
_TEMPERATURES: Final = {"C": " Celsius", "F": " Fahrenheit", "K": " kelvin"}
_FEET: Final = re.compile(r"(?<![\w.'])(?P<feet>\d{1,3})' ?(?P<inches>\d{1,2}(?: ?\d/\d)?)(?:\"|'')")
# "6' tall", but not the mark of a quotation.
_ONLY_FEET: Final = re.compile(r"(?<![\w.'])(?P<feet>\d{1,3})'(?= (?:tall|long|wide|high|deep|thick|x|×|by)\b)")
_INCHES: Final = re.compile(r"(?<![\w\"'])(?P<number>\d+(?:\.\d+)?)\"(?=[,.;:)!?]*(?: (?![\w ]*\")|$))(?<!\"\d\")")
_TIMES: Final = re.compile(r"(?<![\w.])(\d+\.\d+)x\b")
_UNIT_BY: Final = re.compile(r"(?<=\d)( ?(?:m|cm|mm|km|ft|in|feet|inch|inches|\"|')) ?[x×] ?(?=\d)")
_BY: Final = re.compile(
    r"(?<![\w.])(\d+) ?[x×] ?(\d+)(?! ?(?:=|is\b|equals\b|makes\b))(?= ?(?:[a-z°]|\"|'|$|[ ,.?!;)])|-[a-z])"
)
_PERIOD: Final = word_table("s=second d=day day=day hour=hour second=second minute=minute")


# "10 in. wide", "5 gal. of oil", "a 9-in. pan": an abbreviation with a dot in the middle of a sentence.
_DOTTED: Final = re.compile(rf"{_MEASURED_NUMBER}(?P<gap>[ -])(?P<unit>in|{_NAMES})\.(?= [a-z(]|[,;:])")
# "½ hr", "3/4 lb of beef", "1/8-inch": the unit of a fraction.
_PART_OF: Final = re.compile(
    rf"(?P<before>\b[Aa]n? |\b[Tt]he )?(?<![\d/.])(?<!\d )(?<!\d-)\b"
    rf"(?P<over>\d{{1,2}})/(?P<under>\d{{1,3}})(?P<gap>[ -]?)"
    rf"(?P<unit>in\.|{_NAMES})(?:(?<!\.)\.(?= [a-z(]|[,;:)]))?(?![\w/²³'])"
)
# "2h 14m 33s".
_TOOK: Final = re.compile(
    r"(?<![\w.,])(?:(?P<hours>\d+) ?h(?:rs?)? ?(?P<minutes>\d+) ?m(?:ins?)?"
    r"(?: ?(?P<seconds>\d+(?:\.\d+)?) ?s(?:ecs?)?)?|(?P<only>\d+) ?m ?(?P<rest>\d+(?:\.\d+)?) ?s)\b"
)
# "2 A", where volts or watts are in the same text.
_AMPERES: Final = re.compile(rf"{_MEASURED_NUMBER} ?A\b(?! [A-Z]|'s| (?:level|grade|side)s?\b)")
_ELECTRIC: Final = re.compile(r"\d ?(?:[kmM]?[VWΩ]|kWh|volts?|watts?|ohms?)\b")
_ONLY_DOTTED: Final = word_table("in=inch")
# "3 sq. mi.", "20 cu ft": the dot behind the unit ends a sentence if a capital or nothing follows.
_SQUARE: Final = re.compile(
    rf"{_MEASURED_NUMBER} (?P<power>sq|cu)\.? (?P<unit>in|ft|yd|mi|mm|cm|m|km)\b(?:\.(?! [A-Z]|$))?"
)


def measures(text: str) -> str:
    """Return a text with units in words and unchanged numbers."""
    if " sq" in text or " cu" in text:
        text = _SQUARE.sub(_square, text)
    if "m" in text:
        text = _TOOK.sub(_took, text)
    if "A" in text and _ELECTRIC.search(text):
        text = _AMPERES.sub(_amperes, text)
    if "/" in text or not text.isascii():
        text = _PART_OF.sub(_part_of, with_fractions(text))
    text = _ONLY_FEET.sub(lambda match: _feet_alone(match["feet"]), _FEET.sub(_feet, text))
    text = _INCHES.sub(_inches, _UNIT_BY.sub(r"\1 by ", text))
    text = _BY.sub(r"\1 by \2", _TIMES.sub(r"\1 x", text))
    return _UNIT.sub(_unit, _DOTTED.sub(_dotted, _DEGREES.sub(_degrees, text)))


def _amperes(match: re.Match[str]) -> str:
    return f"{match['number']} ampere{'s' * (match['number'] != '1' and not _names_one(match))}"


def _took(match: re.Match[str]) -> str:
    units = ("hours", match["hours"]), ("minutes", match["minutes"] or match["only"])
    named = (*units, ("seconds", match["seconds"] or match["rest"]))
    return " ".join(f"{number} {name.removesuffix('s' * (number == '1'))}" for name, number in named if number)


def _part_of(match: re.Match[str]) -> str:
    over, under, written = match["over"], match["under"], match["unit"]
    one = _ONLY_DOTTED.get(written.rstrip(".")) or UNITS.get(written) or UNITS[written.lower()]
    if written in _ALONE and match["gap"] == " ":
        return match[0]
    before = match["before"] or ""
    if before or match["gap"] == "-":
        # "a ½ hr drive", "a 1/8-inch edge": before a noun.
        if over == "1" and before:
            before = f"{before[0]} " if before[0] in "aA" else before
        return f"{before}{'half' if (over, under) == ('1', '2') else f'{over}/{under}'} {one}"
    if (over, under) == ("1", "2"):
        return f"half {_article(one)} {one}"
    return f"{over}/{under} {one}" if over == "1" else f"{over}/{under} of {_article(one)} {one}"


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" or noun.startswith("hour") else "a"


def _feet(match: re.Match[str]) -> str:
    feet, inches = match["feet"], match["inches"]
    return f"{_feet_alone(feet)} {inches} inch{'es' * (inches != '1')}"


def _feet_alone(feet: str) -> str:
    return f"{feet} {'foot' if feet == '1' else 'feet'}"


def _inches(match: re.Match[str]) -> str:
    # The sign may close a quotation.
    if match.string.count('"', 0, match.start()) % 2:
        return match[0]
    return f"{match['number']} inch{'es' * (match['number'] != '1')}"


def _degrees(match: re.Match[str]) -> str:
    number = match["number"]
    return _apart(match, f"{number} degree{'s' * (number != '1')}{_TEMPERATURES.get(match['scale'] or '', '')}")


def _unit(match: re.Match[str]) -> str:
    number, unit, power = match["number"], match["unit"], match["power"]
    if unit == "s" and "." not in number and (match["gap"] != " " or (len(number) == 4 and number.endswith("0"))):
        # A decade: "the 60s", "the 1980 s".
        return match[0]
    if unit in _ALONE and match["gap"] == " " and not (match["per"] or _AFTER_ALONE.match(match.string, match.end())):
        return match[0]
    if unit in _RARE and match["gap"] == " " and not match["per"]:
        start = match.start("unit")
        is_year = _IN_YEAR.search(match.string[max(0, start - 9) : start])
        if is_year or not _AFTER_RARE.match(match.string, match.end()):
            return match[0]
    one = UNITS.get(unit) or UNITS[unit.lower()]
    # "a 5-km race" and "a .38-cal revolver" name one.
    name = one if number == "1" or match["gap"] == "-" or _names_one(match) else many(one)
    per = match["per"]
    behind = f" per {_PERIOD.get(per) or UNITS.get(per) or UNITS[per.lower()]}" if per else ""
    return f"{number}{'-' if match['gap'] == '-' else ' '}{_POWERS.get(power or '', '')}{name}{behind}"


def _square(match: re.Match[str]) -> str:
    one = _ONLY_DOTTED.get(match["unit"]) or UNITS[match["unit"]]
    power = {"sq": "square", "cu": "cubic"}[match["power"]]
    return f"{match['number']} {power} {one if match['number'] == '1' else many(one)}"


def _dotted(match: re.Match[str]) -> str:
    number, unit = match["number"], match["unit"]
    one = _ONLY_DOTTED.get(unit) or UNITS.get(unit) or UNITS[unit.lower()]
    if match["gap"] == "-":
        return f"{number}-{one}"
    return f"{number} {one if number == '1' else many(one)}"


def many(name: str) -> str:
    """Return the plural of a unit in words: ``meters per second``."""
    first, of, rest = re.split("( per | of |$)", name, maxsplit=1)
    return _PLURALS.get(first, f"{first}s") + of + rest
