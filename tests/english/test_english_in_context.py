"""Sentences as people write them, and what is said: written down before the rules were, by class.

In the table, ``{a|b}`` are readings of which each is accepted. Words are compared without regard to case and
punctuation; initials count as letters.
"""

from __future__ import annotations

import re
import string
import time
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from tts_prep.english import normalization, rules, signs
from tts_prep.english.normalization import normalize_english
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import UNSPOKEN_CHARACTERS, Frontend

TABLE = Path(__file__).parent / "data/english_in_context.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]

OTHERWISE = {
    # As LJ Speech reads dates.
    "She was born on June 21, 1987.": "She was born on June twenty-one, nineteen eighty-seven.",
    # As all numbers of telephones are read, and NVIDIA's tests have it.
    "Dial 1-800-555-0199 today.": "Dial one, eight zero zero, five five five, zero one nine nine today.",
    # Letters in a word of small letters are left to the frontend: espeak-ng and the dictionary spell this one.
    "He has a PhD from MIT.": "He has a PhD from MIT.",
}
"""Sentences that are read otherwise than the table has it, for a reason."""


def spelled(text: str, initials: set[str]) -> str:
    """Return words in lower case, with letters of initials apart."""
    dotted = re.sub(r"\b(?:[A-Za-z]\.){2,}", lambda match: f" {' '.join(match[0].split('.'))} ", text)
    found = re.findall(r"[^\W_]+(?:'[^\W_]+)*", dotted)
    return " ".join(
        " ".join(word.lower()) if (word.isupper() and len(word) > 1) or word.lower() in initials else word.lower()
        for word in found
    )


def readings(expected: str) -> set[str]:
    """Return the readings of a row, without braces."""
    while True:
        inner = [*re.finditer(r"\{([^{}]*)\}", expected)]
        if not inner:
            return {expected}
        # Choices do not depend on one another, but may contain others.
        parts = re.split(r"\{[^{}]*\}", expected)
        expanded = set()
        for chosen in product(*(match[1].split("|") for match in inner)):
            text = "".join(part + choice for part, choice in zip(parts, (*chosen, ""), strict=True))
            expanded |= readings(text)
        return expanded


def is_accepted(sentence: str, expected: str, said: str) -> bool:
    initials = {word.lower() for word in re.findall(r"\b[A-Z]{2,}\b", sentence)}
    return spelled(said, initials) in {spelled(reading, initials) for reading in readings(expected)}


def test_the_table_has_300_sentences_of_23_classes() -> None:
    assert len(ROWS) == len({sentence for _, sentence, _ in ROWS}) == 300
    assert len({name for name, _, _ in ROWS}) == 23


@pytest.mark.parametrize("name", sorted({name for name, _, _ in ROWS}))
def test_sentences_are_read_as_people_do(name: str) -> None:
    wrong = {
        sentence: said
        for kind, sentence, expected in ROWS
        if kind == name and not is_accepted(sentence, expected, said := normalize_english(sentence))
    }
    assert wrong == {sentence: said for sentence, said in OTHERWISE.items() if sentence in wrong}


FRESH = Path(__file__).parent / "data/english_fresh.tsv"
FRESH_OTHERWISE = {
    # The table has "milliamps".
    "It draws 5 mA at 3.3 V.": "It draws five milliamperes at three point three volts.",
    # The table has one zero less, by mistake.
    "The office is on +1 650 253 0000, ext. 12.": "The office is on plus one, six five zero, two five three, zero zero "
    "zero zero, extension one two.",
    # Capitals in a word are left to the frontend.
    "iOS 17.4 and Windows 11 both have it.": "iOS seventeen point four and Windows eleven both have it.",
}


def test_sentences_that_were_written_without_knowing_the_rules_are_read_as_people_do() -> None:
    rows = [line.split("\t") for line in FRESH.read_text(encoding="utf-8").splitlines()]
    said = {sentence: normalize_english(sentence) for _, sentence, _ in rows}
    assert len(said) == 102
    wrong = {
        sentence: said[sentence]
        for _, sentence, expected in rows
        if not is_accepted(sentence, expected, said[sentence])
    }
    assert wrong == FRESH_OTHERWISE


SUBJECTS = Path(__file__).parent / "data/english_subjects.tsv"
SUBJECTS_OTHERWISE = {
    # "William I" may be followed by the pronoun.
    "In 1066 William I took London; in 1087 he died, aged 59.": "In ten sixty-six William I took London; in ten "
    "eighty-seven he died, aged fifty-nine.",
    # The kings of old citations of statutes.
    "The Act of 1701 (12 & 13 Will. III) is still law.": "The Act of seventeen oh one (twelve and thirteen Will. III) "
    "is still law.",
}


def test_sentences_of_seven_subjects_are_read_as_people_do() -> None:
    rows = [line.split("\t") for line in SUBJECTS.read_text(encoding="utf-8").splitlines()]
    said = {sentence: normalize_english(sentence) for _, sentence, _ in rows}
    assert len(said) == 100
    assert len({name for name, _, _ in rows}) == 7
    wrong = {
        sentence: said[sentence]
        for _, sentence, expected in rows
        if not is_accepted(sentence, expected, said[sentence])
    }
    assert wrong == SUBJECTS_OTHERWISE


KINDS = Path(__file__).parent / "data"
KINDS_OTHERWISE = {
    # The table has "missus"; frontends know "Mrs".
    "Mr. and Mrs. Okafor live at 12 Elm St. near the river.": "Mister and Mrs Okafor live at twelve Elm "
    "Street near the river.",
}


DAILY_OTHERWISE = {
    # Addresses are read digit by digit, as in NVIDIA's tests.
    "Log in as root@10.0.0.5 via SSH.": "Log in as root at one zero dot zero dot zero dot five via SSH.",
}


@pytest.mark.parametrize(
    ("half", "otherwise"),
    [
        ("kinds_seen", KINDS_OTHERWISE),
        ("kinds_unseen", {}),
        ("daily_seen", DAILY_OTHERWISE),
        ("daily_unseen", {}),
    ],
)
def test_sentences_of_seven_kinds_of_corpora_are_read_as_people_do(half: str, otherwise: dict[str, str]) -> None:
    lines = (KINDS / f"english_{half}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    said = {sentence: normalize_english(sentence) for _, sentence, _ in rows}
    assert len(said) == 150
    assert len({kind for kind, _, _ in rows}) == 7
    wrong = {
        sentence: said[sentence]
        for _, sentence, expected in rows
        if not is_accepted(sentence, expected, said[sentence])
    }
    assert wrong == otherwise


RULES = {
    f"{stage}-{number}": table
    for stage, tables in rules.tables().items()
    if isinstance(tables, list)
    for number, table in enumerate(tables)
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_reads_its_examples_and_nothing_would_without_it(name: str) -> None:
    examples = dict(RULES[name]["examples"])
    assert {text: normalize_english(text) for text in examples} == examples
    stage = rules._stage(name.rpartition("-")[0])
    rule = stage.pop(number := int(name.rpartition("-")[2]))
    rules._searched.cache_clear()
    try:
        assert {text: normalize_english(text) for text in examples} != examples
    finally:
        stage.insert(number, rule)
        rules._searched.cache_clear()


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1.", "1-", "1/", "A", "A1", "A.", "a ", "Main ", "$1,", "1^", "6-4, ", "4-6, ", "1°"]
)
def test_a_long_text_without_an_end_takes_no_long_time(piece: str) -> None:
    started = time.process_time()
    normalize_english(f"{piece * (8000 // len(piece))} § no. ISBN $ / diluted wickets")
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It costs $5/kg or $20/person.", "It costs five dollars per kilogram or twenty dollars per person."),
        ("An area of 20 sq ft.", "An area of twenty square feet."),
        ("A box of 3 cu. ft. It is full.", "A box of three cubic feet. It is full."),
        ("They worked 1500 hours of overtime.", "They worked fifteen hundred hours of overtime."),
        ("At 2130 hours it rained.", "At twenty-one thirty hours it rained."),
        ("p < 0.05 and ±2.5", "p less than zero point zero five and plus or minus two point five"),
        ("The $40m he owes is gone.", "The forty million dollars he owes is gone."),
        ("From 20%-25% now.", "From twenty percent to twenty-five percent now."),
        ("Jan.-Mar. sales fell.", "January to March sales fell."),
        ("The F-150 and the KC-135.", "The F-one fifty and the KC-one thirty-five."),
        ("He ran it in 3:42.17 today.", "He ran it in three forty-two point one seven today."),
        ("1.5M users and 3B people", "one point five million users and three billion people"),
        ("3M Company", "three M Company"),
        ("E. coli and the S. bank", "E. coli and the south bank"),
        ("Open 24/7/365.", "Open twenty-four seven three sixty-five."),
        (
            "With 7*24 support, 7*24 = 168.",
            "With twenty-four seven support, seven times twenty-four equals one hundred sixty-eight.",
        ),
        ("3-5 May and Sept. 25-26", "the third to the fifth of May and September twenty-fifth to twenty-sixth"),
        ("It cost $5 < $6, or ~€7.", "It cost five dollars is less than six dollars, or about seven euros."),
        ("10^-6 or 3 x 10⁻³", "ten to the power of minus six or three times ten to the power of minus three"),
        ("in the Sun. On Sun. I", "in the Sun. On Sunday. I"),
        ("Elizabeth I of England, as Elizabeth I know", "Elizabeth the first of England, as Elizabeth I know"),
        ("½ oz, 3/4 lb, a 1/2 hr drive", "half an ounce, three quarters of a pound, a half hour drive"),
        ("a 2 A fuse for 12 V, the 2 A levels", "a two ampere fuse for twelve volts, the two A levels"),
        ("A- and B-lists, an A-.", "A- and B-lists, an A minus."),
        ("Take US-50 E to 5 W Main St.", "Take US-fifty east to five West Main Street."),
        ("25.3M in 1900, 3M Company", "twenty-five point three million in nineteen hundred, three M Company"),
        # Words that look like units.
        ("2 t shirts and 3 bar stools", "two t shirts and three bar stools"),
        ("In 2019 bar sales fell.", "In twenty nineteen bar sales fell."),
        ("In 2010 MP for Bath, at 5 Ah I see.", "In twenty ten MP for Bath, at five Ah I see."),
        ("a 2 t truck, 3 bar.", "a two tonne truck, three bars."),
    ],
)
def test_forms_beside_those_of_the_tables(text: str, said: str) -> None:
    assert normalize_english(text) == said


def test_what_is_read_otherwise_still_is() -> None:
    assert {sentence: normalize_english(sentence) for sentence in OTHERWISE} == OTHERWISE


NEIGHBOURS = ("7", "12", "365", "1,200", "2.5", "x", "n")
SIGNS = "-+=<>≤≥≠≪≫≈×÷±^~*/:%°‰‱€£$¢¥#@&§№√·∞→|\\_©®™♯♭⁄\u2212–—"
PAIRS = (
    ">=",
    "<=",
    "!=",
    "<>",
    "==",
    "===",
    "!==",
    "->",
    "-->",
    "=>",
    "==>",
    "**",
    "+-",
    "+/-",
    "&&",
    "||",
    "<<",
    ">>",
)
"""What is typed for one sign."""
MARKS = ".,;!?'\"()[]{}`"
"""Marks of a sentence, which are no signs."""
SAID = frozenset(
    (
        *(
            "we",
            "had",
            "there",
            "x",
            "n",
            "a",
            "oh",
            "plus",
            "equals",
            "is",
            "not",
            "less",
            "greater",
            "equal",
            "than",
            "or",
        ),
        *("approximately", "times", "divided", "minus", "power", "the", "of", "about", "slash", "to", "by", "and"),
        *(
            "percent",
            "degrees",
            "per",
            "mille",
            "euros",
            "pounds",
            "dollars",
            "cents",
            "pence",
            "number",
            "at",
            "section",
        ),
        *(
            "root",
            "point",
            "o'clock",
            "fifty",
            "much",
            "ten",
            "thousand",
            "yen",
            "sen",
            "infinity",
            "copyright",
            "registered",
        ),
        *("trademark", "sharp", "flat", "underscore", "backslash", "out"),
    )
)
FRACTIONS = frozenset(("sevenths", "twelfths", "hundredths"))
"""Words for signs; those of numbers are taken from readings of the neighbours."""


# The same neighbours and sentences come with every sign.
read = cache(normalize_english)


@cache
def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z']+", read(text).lower()))


@pytest.mark.parametrize("sign", "<>≤≥≈±~=^")
def test_no_sign_before_a_signed_number_or_a_sum_is_lost(sign: str) -> None:
    for before, number in product(("5 ", "x "), ("-5", "\u22125", "±5", "$5", "£2.50", "-$5", ".5")):
        if sign == number[0] or (sign == "^" and {*number} & {*"$£"}):
            continue
        text = f"We had {before}{sign} {number} there."
        said = read(text)
        assert sign in said or set(words(text)) - set(words(f"We had {before}{number} there.")), (text, said)
        assert sign not in said, (text, said)


def test_the_list_of_signs_has_all_that_a_keyboard_or_a_table_has() -> None:
    assert set(string.punctuation) == {*SIGNS, *MARKS} & set(string.punctuation)
    assert not {*SIGNS} & {*MARKS}
    tables = (signs._BETWEEN, signs._BEFORE, signs._BEHIND, signs._EVERYWHERE, normalization._SIGNS)
    assert {sign for table in tables for sign in table} <= {*SIGNS}
    assert set(signs._PAIRS) == set(PAIRS)


@pytest.fixture(scope="module")
def espeak() -> Frontend:
    return get_frontend("espeak")


# Each sign between a third of the neighbours; `make soak` has the matrix. A colon has all, to find what is a time.
@pytest.mark.parametrize("part", ["some", pytest.param("all", marks=pytest.mark.soak)])
@pytest.mark.parametrize("sign", [*SIGNS, *PAIRS])
def test_no_sign_beside_a_number_is_lost(sign: str, part: str, espeak: Frontend) -> None:
    lost, glued = [], []
    pairs = [
        (one, two) for one, two in product((*NEIGHBOURS, ""), repeat=2) if f"x{one}"[-1].isdigit() or two[:1].isdigit()
    ]
    every = 1 if part == "all" or sign == ":" else 3
    for left, right in pairs[[*SIGNS, *PAIRS].index(sign) % every :: every]:
        numbers = {*words(left), *words(right), *words(" ".join(re.findall(r"\d", left + right)))}
        for before, after in product(("", " "), repeat=2):
            text = f"We had {left}{before}{sign}{after}{right} there."
            said = read(text)
            if words(text) == words(f"We had {left} {right} there."):
                # A sign that stays is a symbol, as a dash is, or read by espeak-ng, or counted.
                phonemes = espeak.phoneticize(said)
                stays = {*sign, *signs._PAIRS.get(sign, ""), "—"} & {*said}
                without = espeak.phoneticize("".join(" " if character in stays else character for character in said))
                counted = {symbol for kind, symbol in espeak.remarks(said, phonemes) if kind == UNSPOKEN_CHARACTERS}
                if phonemes == without and not counted & stays:
                    lost.append(text)
            if not {*words(text)} <= SAID | numbers | FRACTIONS:
                glued.append((text, said))
    # A time of the day is read as two numbers.
    assert lost == ["We had 7:12 there.", "We had 12:12 there."] * (sign == ":")
    assert glued == []
