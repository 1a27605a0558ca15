"""Abbreviations of titles, companies and streets: ``Dr. Who``, ``Brown & Co.``, ``Elm St.``."""

import re
from typing import Final

from tts_prep.preprocess.text.tables import word_table, word_tables

_TABLES: Final = word_tables(__package__)
# Abbreviations before a name; "Mr" without a dot is British spelling.
_TITLES: Final = _TABLES["abbreviations_titles"]
_WORDS: Final = _TABLES["abbreviations_words"]
# Before a number, or the numeral or letter of a part: "Fig. 3", "pp. 10-12", "Apt. 5", "Bldg. C".
_PARTS: Final = _TABLES["abbreviations_parts"]
_PART: Final = re.compile(
    rf"\b({'|'.join(sorted(_PARTS, key=len, reverse=True))})\. ?(?=\d|[ivxIVX]+\b)|"
    r"\b(?P<lettered>Fig|fig|Apt|apt|Bldg|bldg|Ste|Vol|vol|Sect|sect)\. (?=[A-Z]\b(?!\.\w))"
)
# "my no. is 5", "the room no."
_NUMBER_OF: Final = re.compile(
    r"(?i:\b(my|your|his|her|our|their|its|whose|phone|fax|tel|mobile|room|serial|order|account|flight|part) )"
    r"no\.(?= [a-z]|,)"
)
_DAYS: Final = _TABLES["abbreviations_days"]
_DAY: Final = "|".join(sorted(_DAYS, key=len, reverse=True))
# "on Sat. to", "at 9 a.m. Tues."; but "in the Sun.".
_DAY_NAMED: Final = re.compile(
    rf"(?P<before>\b(?:[Oo]n|[Ee]very|[Tt]his|[Nn]ext|[Ll]ast|[Bb]y|[Uu]ntil|[Tt]ill|[Ff]rom|[Tt]o|[Tt]hrough|and|or|"
    rf"since|m\.) )(?P<day>{_DAY})\.(?P<end>(?= [A-Z])|(?=\"?$))?"
)
_DAY_RANGE: Final = re.compile(rf"\b({_DAY})\.? ?[-–—] ?({_DAY})\b\.?(?! [A-Z])")
_DAY_DOTTED: Final = re.compile(
    rf"\b({_DAY})\.(?=,| (?:\d|the [a-z-]+ of |Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
_MONTHS: Final = _TABLES["abbreviations_months"]
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_NAMES_DASHED: Final = re.compile(
    r"[-–—] ?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
)
_MONTH_RANGE: Final = re.compile(rf"\b({_MONTH})\.? ?[-–—] ?({_MONTH})\b(?:\.(?! [A-Z]|$))?")
# "the N. side of", "on the S.E. coast".
_PARTS_OF_PLACES: Final = (
    "side|end|bank|coast|shore|wing|entrance|corner|half|wall|face|slope|border|edge|gate|tower|facade|aisle|transept"
)
_DIRECTIONS: Final = {"N": "north", "S": "south", "E": "east", "W": "west"}
_DIRECTION: Final = re.compile(rf"\b([NSEW])\.(?:([EW])\.)?(?= (?:{_PARTS_OF_PLACES})\b)")
_WITH: Final = re.compile(r"(?<![\w/])w/(o)?(?=[ \w])")
_DRIVE: Final = re.compile(r"(?<=[a-z.] )(Dr|Rd|Ln|Hwy|Terr|Pkwy|Cres)\.(?= [a-z&]|,|$)|\b(Bldg)\.(?= [a-z&]|,|$)")
# "I-80 W", "12 mi. N on Route 9", "70km SW of": the direction of a road, or behind a distance.
_ROAD_TO: Final = re.compile(r"(?<=\d) ([NSEW])(?=[.,;)]| [a-z]|$)")
_ROAD: Final = re.compile(r"\b(?:I|US|Rte|Rt|Route|Hwy|Highway|Interstate|Exit)[-. ]{1,2}\d+$")
_DISTANCE_TO: Final = re.compile(
    r"(?<=\d)(?P<unit> ?(?:km|mi|miles?|kilomet(?:er|re)s?|m|ft|feet|yds?|yards|blocks))\.? (?P<way>[NSEW]|[NS][EW])"
    r"(?=[.,;)]| [a-z]|$)"
)
_LOWER: Final = re.compile(r"\b(dept|ave|blvd|tel)\.(?= [a-z]|,)")
_LOWER_WORDS: Final = word_table("dept=department ave=avenue blvd=boulevard tel=telephone")
_SAINTS: Final = (
    "Albans?|Andrews?|Anne?s?|Anthony|Augustine|Bartholomew|Benedict|Bernard|Bride|Catherines?|Charles|Clair|Clements?|"
    "Cloud|Croix|Davids?|Denis|Dunstan|Edmunds?|Francis|Gallen|Georges?|Germain|Giles|Helenas?|Helens|Ignatius|Ives|"
    "James|Johns?|Joseph|Jude|Kilda|Kitts|Lawrence|Leonards?|Louis|Lucia|Luke|Margaret|Mark|Martins?|Mary|Matthew|"
    "Michaels?|Moritz|Nicholas|Olave|Pancras|Patrick|Paul|Peters?|Petersburg|Pierre|Sebastian|Sepulchre|Simon|Stephens?|"
    "Swithin|Thomas|Tropez|Vincent|Vitus"
)
# "Rue St. Honoré", "Lake St. Clair".
_NO_STREET: Final = "(?<!Rue )(?<!Mont )(?<!Mount )(?<!Fort )(?<!Lake )(?<!Port )"
# After a name, "St." is a street, unless a saint follows: "Elm St. It", but "Bury St. Edmunds".
_STREET: Final = re.compile(
    rf"\b(?P<name>[A-Z][a-z]+ ){_NO_STREET}St\.(?! (?:{_SAINTS})\b)(?P<next>(?= (?:[A-Z][a-z]*)\b)|\"?$)?|"
    r"\bSt\.(?= [a-z&]|,)|\bSt(?=\.$)"
)
_FIRST_WORDS: Final = re.compile(
    r" (?:A|An|And|As|At|But|By|For|From|He|Her|His|I|If|In|It|Its|My|No|On|Our|She|So|That|The|Their|Then|There|"
    r"These|They|This|Those|We|What|When|Where|Who|Why|You|Your)\b"
)
_NUMBERED_STREET: Final = re.compile(
    r"(?<=\d )((?:[NSEW] )?(?:(?:[A-Z][a-z]+ ){1,3}|\d+(?:st|nd|rd|th) ))"
    rf"{_NO_STREET}([Ss]t|[Aa]ve|[Bb]lvd|[Rr]d|[Cc]t|[Ll]n|[Dd]r|[Hh]wy|[Ee]xpy)\b\.?"
)
_ROADS: Final = word_table(
    "St=Street Ave=Avenue Blvd=Boulevard Rd=Road Ct=Court Ln=Lane Dr=Drive Hwy=Highway Expy=Expressway "
    "Terr=Terrace Pkwy=Parkway Cres=Crescent Bldg=Building"
)
_SAINT: Final = re.compile(rf"\bSt(?:\.(?= ?[A-Z])|(?= (?:{_SAINTS})\b))")
_TITLE: Final = re.compile(rf"\b({'|'.join(_TITLES)})(?:\.(?= ?[A-Z])| (?=[A-Z]))")
_ALWAYS: Final = re.compile(r"\b(Mr|Mrs|Messrs)\.(?=\s)")
_BARE_TITLES: Final = frozenset(("Mr", "Mrs", "Ms", "Dr", "Messrs"))
_WORD: Final = re.compile(rf"\b({'|'.join(_WORDS)})\.(?P<behind> [A-Z]|$|(?=\"?$))?")


def abbreviations(text: str) -> str:
    """Return a text with abbreviations expanded."""
    if "w/" in text:
        text = _WITH.sub(lambda match: "without" if match[1] else "with ", text)
    if ("-" in text or "—" in text) and _NAMES_DASHED.search(text):
        text = _DAY_RANGE.sub(lambda match: f"{_DAYS[match[1]]} to {_DAYS[match[2]]}", text)
        text = _MONTH_RANGE.sub(lambda match: f"{_MONTHS[match[1]]} to {_MONTHS[match[2]]}", text)
    # Most texts have one dot, at the end.
    if "." in text[:-1]:
        text = _PART.sub(lambda match: f"{_PARTS[match[1] or match['lettered']]} ", text)
        text = _DAY_NAMED.sub(_day_named, text)
        text = _NUMBER_OF.sub(r"\1 number", text)
        text = _DAY_DOTTED.sub(lambda match: _DAYS[match[1]], text)
        text = _DIRECTION.sub(lambda match: _way("".join(match.groups(""))), text)
        text = _LOWER.sub(lambda match: _LOWER_WORDS[match[1]], text)
    text = _DRIVE.sub(lambda match: _ROADS[match[1] or match[2]] + "." * (match.end() == len(match.string)), text)
    if any(map(str.isdigit, text)):
        text = _ROAD_TO.sub(_road_to, _NUMBERED_STREET.sub(_numbered_street, text))
        text = _DISTANCE_TO.sub(lambda match: f"{match['unit']} {_way(match['way'])}", text)
    text = _SAINT.sub("Saint", _STREET.sub(_street, text)) if "St" in text else text
    text = _WORD.sub(_word, _TITLE.sub(_title, text))
    # "Mr. and Mrs. Campbell": these abbreviations are unambiguous.
    return _ALWAYS.sub(lambda match: _TITLES[match[1]], text)


def _day_named(match: re.Match[str]) -> str:
    return f"{match['before']}{_DAYS[match['day']]}{'.' if match['end'] is not None else ''}"


def _way(letters: str) -> str:
    return "".join(_DIRECTIONS[letter] for letter in letters)


def _road_to(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 20) : match.start()]
    return f" {_way(match[1])}" if _ROAD.search(before) else match[0]


def _street(match: re.Match[str]) -> str:
    behind = match["next"]
    # The dot also ends the sentence if the text ends, or a word follows that is rare in names.
    ends = behind is not None and (match.end() == len(match.string) or _FIRST_WORDS.match(match.string, match.end()))
    return f"{match['name'] or ''}Street{'.' if ends else ''}{behind or ''}"


def _numbered_street(match: re.Match[str]) -> str:
    # The dot also ends the sentence if a capital or nothing follows.
    behind = match.string[match.end() : match.end() + 2]
    ends = match[0].endswith(".") and (not behind or (behind[:1] == " " and behind[1:].isupper()))
    return f"{match[1]}{_ROADS[match[2].capitalize()]}{'.' * ends}"


def _title(match: re.Match[str]) -> str:
    dotted = match[0].endswith(".")
    if not dotted and match[1] not in _BARE_TITLES:
        return match[0]
    return _TITLES[match[1]] + ("" if dotted and match.string[match.end()] == " " else " ")


def _word(match: re.Match[str]) -> str:
    behind = match["behind"]
    # The dot also ends the sentence if nothing follows.
    return _WORDS[match[1]] + ("." if behind == "" else behind or "")
