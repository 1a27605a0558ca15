"""Signs between and before numbers: ranges, ratios, fractions, powers, comparisons, signs of arithmetic."""

import re
import unicodedata
from typing import Final

from tts_prep.english.numbers import cardinal, digits, ordinal, plain_number
from tts_prep.toml_files import word_tables

_YEARS: Final = re.compile(r"(?<![\w,.$£€/-])(1[1-9]\d\d|20\d\d)(s?)[-–—](1[1-9]\d\d|20\d\d|\d\d)(s?)\b(?![-–,/.]?\d)")
# "10%-15%", "20°-25°".
_BOTH: Final = re.compile(r"(?<=\d)([%°](?: ?[CF])?)(?: ?[-–] ?|—)(?=\d+(?:\.\d+)? ?[%°])")
_DASH: Final = re.compile(r"(?<=\d)(?P<sign>[°%\"']?) ?– ?(?=[$£€]?\.?\d)")
_SUMS: Final = re.compile(r"([$£€]\d[\d,]*(?:\.\d+)?)-(?=[$£€]\d)")
_HALVES: Final = re.compile(r"(?<=\d)( ?[ap]\.?m\.?)(?: ?[-–] ?|—)(?=\d)", re.IGNORECASE)
_MEASURED: Final = re.compile(
    r"(?<![\w,./-])(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)(?=[ -]?(?:%|°|(?:kg|km|cm|mm|lbs?|oz|ft|mph|m|g|mg|[µμn]m|m[lL]|"
    r"cl|kcal|tbsp|tsp|mins?|hrs?|secs?|ms|yrs?|[kMG]Hz|[kMGT]B|k?W|m?V|mi)\b|"
    r"(?:percent|years?|days?|hours?|minutes?|seconds?|miles?|weeks?|months?|dollars|pounds|degrees|feet|inches|people)\b))"
)
_COUNTED: Final = re.compile(
    r"(?i)\b(pages?|pp\.|ages?|aged|chapters?|verses?|lines?|between|rows?|rooms|numbers|nos\.|items|figures|sections|"
    r"volumes|tables|days|weeks|open|hours|from|serves|feeds|makes|takes) (\d+)-(?=\d)"
)
# "3-4 egg yolks", "2-3 times": before a plural, and rising, since scores are rarely so.
_OF_THINGS: Final = re.compile(r"(?<![\w,./-])(?P<low>\d{1,3})-(?P<high>\d{1,3})(?= (?:[a-z]+ )?[a-z]{2,}[a-rt-z]s\b)")
# "9 - 4 = 5" is a difference, "5 - 9" alone a score or a range.
_DIFFERENCE: Final = re.compile(
    r"(?<=\d)(?: - | ?\u2212 ?)(?=[\d.,]+ ?(?:=|is\b|equals\b))|(?<=\d) ?\u2212 ?(?=\.?\w)|(?<=\w)\u2212(?=\.?\d)"
)
_SPACED: Final = re.compile(r"(?<=\d) - (?=\d)")
_CLOCK: Final = re.compile(r"(?<=:\d\d)( ?[ap]\.?m\.?)? ?- ?(?=\d{1,2}(?::\d\d| ?[ap]\.?m\b))", re.IGNORECASE)
_AMOUNT: Final = r"\d[\d,]*(?:\.\d+)?"
# "5 km-10 km": the same unit behind both numbers.
_SAME_UNIT: Final = re.compile(rf"(?<=\d)(?P<unit> ?[A-Za-zµμ]{{1,4}})(?: ?[-–] ?|—)(?={_AMOUNT}(?P=unit)\b)")
# "5-3=2", "x-1 > 0", "2 = 5-3": in an equation. "x-7", "7 - x": letters of variables, not those of codes, "B-12".
_EQUATION: Final = re.compile(
    rf"(?<=[\dnxyz)]) ?- ?(?=(?:{_AMOUNT}|[nxyz]) ?[=≠<>≤≥])|(?<=[=≠<>≤≥][\dnxyz])-(?=\d)|"
    r"(?<=[=≠<>≤≥] [\dnxyz])-(?=\d)|(?<![\w-][nxyz])(?<=\b[nxyz]) ?- ?(?=\.?\d[\d.,]*(?![\w-]))|"
    r"(?<=\d) ?- ?(?=[nxyz](?![\w-]))"
)
# Numbers of telephones, books and parts: "010-12345678", "978-3-16-148410-0".
_GROUPS: Final = re.compile(r"(?<![\w.,$£€-])(?:0\d+-\d+|\d+(?:-\d+){2,})(?![\w-]|[.,]\d)")
_IDIOM: Final = re.compile(r"(?<![\w.,-])(?:9-11|10-4|20-20|24-7|50-50)(?![\w-]|[.,]\d)")
# Scores and what is left: "3-1" is "three to one".
_BETWEEN_PLAIN: Final = re.compile(rf"(?<![\w$£€¥-])({_AMOUNT})-(?={_AMOUNT}(?![\w-]))")


def ranges(text: str) -> str:
    """Return a text with dashes and hyphens of ranges replaced by ``to``, and those of differences by ``minus``.

    A hyphen between numbers that is in no range, difference, date or code is that of a score: ``3-1`` is ``3 to 1``.
    """
    if not any(sign in text for sign in "-–—\u2212"):
        return text
    text = _EQUATION.sub(" minus ", text)
    text = _OF_THINGS.sub(_of_things, _DIFFERENCE.sub(" minus ", text))
    text = _SAME_UNIT.sub(r"\g<unit> to ", _CLOCK.sub(lambda match: f"{match[1] or ''} to ", text))
    text = _SPACED.sub(" to ", text)
    text = _YEARS.sub(r"\1\2 to \3\4", text)
    text = _SUMS.sub(r"\1 to ", _DASH.sub(r"\g<sign> to ", text))
    text = _HALVES.sub(r"\1 to ", _BOTH.sub(r"\1 to ", text))
    text = _COUNTED.sub(r"\1 \2 to ", _MEASURED.sub(r"\1 to \2", text))
    text = _GROUPS.sub(lambda match: ", ".join(map(digits, match[0].split("-"))), text)
    text = _IDIOM.sub(lambda match: match[0].replace("-", " "), text)
    return _BETWEEN_PLAIN.sub(r"\1 to ", text)


def _of_things(match: re.Match[str]) -> str:
    low, high = match["low"], match["high"]
    return f"{low} to {high}" if int(low) < int(high) else match[0]


# Minutes have two digits; two parts of a ratio before or after such words may look like a time.
_NAMED_RATIO: Final = re.compile(
    r"(?i)\b((?:ratios?|odds|scales?|proportions?)(?: (?:is|are|of|was|were|at|about))* \d+):(?=\d+\b(?!:))|"
    r"(?<![\d:.])(\d+):(?=\d+ (?:scale|ratio|odds|mix|mixture|dilution|against|model)\b)"
)
_RATIO: Final = re.compile(
    r"(?<![\w:.])(\d+):(?=(?:\d|[6-9]\d|\d{3,})(?![\w:]|\.\d))|(?<![\w:.])((?:2[5-9]|[3-9]\d|\d{3,})):(?=\d)"
)


def ratios(text: str) -> str:
    """Return a text with ``3:1`` as ``3 to 1``; what may be a time of the day is one, unless words say otherwise."""
    if ":" not in text:
        return text
    text = _NAMED_RATIO.sub(lambda match: f"{match[1] or match[2]} to ", text)
    return _RATIO.sub(lambda match: f"{match[1] or match[2]} to ", text)


_FRACTION: Final = re.compile(
    r"(?:\b(\d+)(?: +|-))?(?<![\d/.])\b(\d{1,5})/(\d{1,5})(?:(?:st|nd|rd|th)\b|TH\b|RD\b)?\b(?![/\d]|\.\d)"
    r"(?P<metre> time\b)?"
)
_VULGAR: Final = re.compile("[¼-¾⅐-⅞↉]")
_KNOWN_PAIRS: Final = frozenset(("9/11", "24/7", "50/50", "20/20", "4/4"))
# "24/7/365"; "7*24" is a product elsewhere.
_ALWAYS_OPEN: Final = re.compile(
    r"(?<![\w/.,-])(?:24/7/(365)|(365)/24/7|(?:24[x×*]7|7[x×*]24)(?= (?:support|service|hotline|help|access|monitoring|"
    r"coverage|care|operations?|online|available|availability)\b))(?![\w/]|[.,:]\d)"
)
# "95/100 on the test", "a score of 8/10".
_MARKS: Final = re.compile(
    r"(?<=\b)((?i:got|gets?|scor(?:es?|ed|ing)|rat(?:es?|ed|ing)|marks?|graded?|gave|gives?)(?: [a-z]+){0,3} )"
    r"(\d{1,3}(?:\.\d+)?)/(?=(?:5|10|20|50|100)\b(?! of\b|[/.,]\d))"
)
_MAX_UNDER: Final = 100


def with_fractions(text: str) -> str:
    """Return a text with ``½`` as `` 1/2``."""
    if text.isascii():
        return text
    # "½" is decomposed to 1, a fraction slash and 2.
    return _VULGAR.sub(lambda match: f" {unicodedata.normalize('NFKC', match[0]).replace('⁄', '/')}", text)


def around_the_clock(text: str) -> str:
    """Return a text with ``24/7/365`` and ``7x24 support`` in words; ``24/7`` is left to `fractions`."""
    if "24" not in text:
        return text
    return _ALWAYS_OPEN.sub(lambda match: f"twenty-four seven{' three sixty-five' * bool(match[1] or match[2])}", text)


def fractions(text: str) -> str:
    """Return a text with fractions in words; ``9/11``, ``24/7``, ``50/50`` and ``3/4 time`` are not fractions."""
    text = with_fractions(text)
    if "/" in text:
        text = _MARKS.sub(r"\1\2 out of ", text)
    return _FRACTION.sub(_fraction, text) if "/" in text else text


def _fraction(match: re.Match[str]) -> str:
    over, under = int(match[2]), int(match[3])
    is_pair = f"{over}/{under}" in _KNOWN_PAIRS or match["metre"] or over + under == _MAX_UNDER
    if not match[1] and over == under and not is_pair:
        return f"{cardinal(over)} out of {cardinal(under)}"
    if is_pair:
        return f"{match[1] or ''} {cardinal(over)} {cardinal(under)}{match['metre'] or ''}".lstrip()
    if not over or under < 2 or (under > _MAX_UNDER and under % 10 ** (len(match[3]) - 1)):
        return match[0]
    # Not "ninety-five one hundredths".
    part = {2: "half", 4: "quarter"}.get(under) or ordinal(under).removeprefix("one " * (over > 1))
    plural = {"half": "halves"}.get(part, f"{part}s") if over > 1 else part
    if match[1]:
        return f"{match[1]} and {'a' if (over, under) == (1, 2) else cardinal(over)} {plural}"
    return f"{cardinal(over)} {plural}"


_TABLES: Final = word_tables(__package__)
# Signs that are typed as several. "x <-5" is "x < -5".
_PAIRS: Final = _TABLES["signs_pairs"]
_PAIR: Final = re.compile(
    # "**two words**" is emphasis, and "2**3" a power.
    r"(?<=\d) ?\*\* ?(?=[\d(nxyz-])|(?<=\b[a-z])\*\*(?=\d)|"
    rf"(?<=[\w)\]%°]) ?(?:{'|'.join(re.escape(pair) for pair in _PAIRS if pair != '**')}) ?(?=[\w(.$£€+~\u2212-])"
)


def pairs(text: str) -> str:
    """Return a text with signs that are typed as several as the one that is meant: ``>=`` as ``≥``, ``->`` as ``→``."""
    if not any(map(text.__contains__, "<>=*&|/")):
        return text if "+-" not in text else _PAIR.sub(_pair, text)
    return _PAIR.sub(_pair, text)


def _pair(match: re.Match[str]) -> str:
    return f" {_PAIRS[match[0].strip()]} "


_BETWEEN: Final = _TABLES["signs_between"]
"""What is said for a sign behind a number and before another."""

_BEFORE: Final = {
    **{sign: words.removeprefix("is ") for sign, words in _BETWEEN.items() if sign in "<>≤≥≠≪≫≈×÷±*√→"},
    "~": "about",
    "/": "slash",
    "^": "to the power of",
    "§": "section",
    "№": "number",
    "\u2212": "minus",
}
"""What is said for a sign before a number alone."""

_BEHIND: Final = {"‰": "per mille", "‱": "per ten thousand"}
_EVERYWHERE: Final = {"©": "copyright", "®": "registered", "™": "trademark", "♯": "sharp", "♭": "flat", "∞": "infinity"}
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_PRODUCT: Final = re.compile(r"(?<=\d) ?× ?(?=\d[\d.,]* ?(?:=|is\b|equals\b|makes\b))")
_DIVISION: Final = re.compile(r"(?<=\d) / (?=\d)")
_HASHTAG: Final = re.compile(r"(?<![\w#&])#(?=[A-Za-z]\w)")
_SHARP: Final = re.compile(r"\b([A-G])#(?!\w)")
_SUPERSCRIPTS: Final = re.compile("(?<=\\d)[⁻⁺]?[⁰¹²³⁴-⁹]+")
# The sign of a number may be read already.
_NEXT: Final = r"(?=(?:[-+±~\u2212]|minus |plus or minus |about )?\.?\d)"
# "By 12: 144" is a mark.
_BETWEEN_NUMBERS: Final = re.compile(rf"(?<=\d) ?(?!: \d{{3}})([{re.escape(''.join(_BETWEEN))}]) ?{_NEXT}")
_BEFORE_NUMBER: Final = re.compile(rf"([{re.escape(''.join(_BEFORE))}]) ?{_NEXT}")
_TIMES_TEN: Final = re.compile(r"(?<=\d) ?[xX] ?(?=10(?:\^|[⁻⁰¹²³⁴-⁹]| to the))")
# "An A-." and "a B- in chemistry", not "A- and B-lists".
_GRADE: Final = re.compile(r"(?<![\w-])([A-F])-(?=[.,;:!?)\"']|$| (?!and\b|or\b|to\b)[a-z])")
_BEHIND_NUMBER: Final = re.compile(r"(?<=\d) ?([‰‱])")
_ANYWHERE: Final = re.compile(f"[{''.join(_EVERYWHERE)}]")
_ASTERISK: Final = re.compile(r"(?<!\S)(?<!\d )\*(?!\S)(?! \d)")


def music(text: str) -> str:
    """Return a text with ``C#`` as ``C sharp``, and signs such as ``©`` in words."""
    if "#" in text:
        text = _HASHTAG.sub("hashtag ", _SHARP.sub(r"\1 sharp", text))
    if "*" in text:
        text = _ASTERISK.sub("asterisk", text)
    if "-" in text:
        text = _GRADE.sub(r"\1 minus", text)
    return text if text.isascii() else _ANYWHERE.sub(lambda match: f" {_EVERYWHERE[match[0]]} ", text)


def arithmetic(text: str) -> str:
    """Return a text with the signs before and between numbers in words, which no other step has read.

    A text with tags of HTML or SSML is unchanged.
    """
    if _TAG.search(text):
        # Signs of markup compare nothing; frontends count them.
        return text
    text = _DIVISION.sub(" divided by ", _PRODUCT.sub(" times ", text))
    if "x" in text or "X" in text:
        text = _TIMES_TEN.sub(" times ", text)
    text = _SUPERSCRIPTS.sub(_power, text)
    text = _BETWEEN_NUMBERS.sub(lambda match: f" {_BETWEEN[match[1]]} ", text)
    text = _BEFORE_NUMBER.sub(lambda match: f" {_BEFORE[match[1]]} ", text)
    return _BEHIND_NUMBER.sub(lambda match: f" {_BEHIND[match[1]]} ", text)


def sign_before_number(sign: str) -> str:
    """Return the words for a sign before a number, such as ``about`` for ``~``."""
    return _BEFORE[sign]


def sign_between_numbers(sign: str) -> str:
    """Return the words for a sign behind a number and before another, such as ``is less than`` for ``<``."""
    return _BETWEEN[sign]


def _power(match: re.Match[str]) -> str:
    exponent = unicodedata.normalize("NFKC", match[0]).replace("\u2212", "-")
    sign = {"-": "minus ", "+": "plus "}.get(exponent[0], "")
    exponent = exponent.lstrip("-+")
    named = "" if sign else {"2": "squared", "3": "cubed"}.get(exponent)
    return f" {named}" if named else f" to the power of {sign}{plain_number(exponent)}"
