from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from random import Random

import inflect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.preprocess.text.english import normalize_english
from tts_prep.preprocess.text.english.number_words import cardinal, ordinal
from tts_prep.preprocess.text.typography import plain_marks, without_accents, without_controls

METADATA = Path(__file__).parents[3] / "shared" / "data" / "ljspeech-metadata.csv"


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("289 men", "two hundred eighty-nine men"),
        ("1,234,567", "one million, two hundred thirty-four thousand, five hundred sixty-seven"),
        ("007 and 0", "zero zero seven and zero"),
        ("the 2nd, 21st and 1,000th", "the second, twenty-first and one thousandth"),
        ("in 1843; 1905, 1800.", "in eighteen forty-three; nineteen oh five, eighteen hundred."),
        ("2000, 2001 and 2010", "two thousand, two thousand one and twenty ten"),
        ("the 1960s and the '90s", "the nineteen sixties and the nineties"),
        ("in 605 B.C.", "in six oh five B.C."),
        (
            "£1000, $1, £81,791.",
            "one thousand pounds, one dollar, eighty-one thousand, seven hundred ninety-one pounds.",
        ),
        ("$21.45 and $0.99", "twenty-one dollars, forty-five cents and ninety-nine cents"),
        ("$3.5 million; €2 billion", "three point five million dollars; two billion euros"),
        ("8.25 and 0.5", "eight point two five and zero point five"),
        ("a .38-caliber revolver", "a thirty-eight-caliber revolver"),
        ("at 10:45, 9:00 or 7:05 p.m.", "at ten forty-five, nine o'clock or seven oh five p.m."),
        ("12:30pm", "twelve thirty pm"),
        ("No. 5, No. 150 and Nos. 3", "Number five, Number one fifty and Numbers three"),
        ("Exhibit C2766, box 2915", "Exhibit C two seven six six, box two nine one five"),
        ("the 14-year-old", "the fourteen-year-old"),
        ("1/2 a mile, 2 3/4 miles, ½", "one half a mile, two and three quarters miles, one half"),
        ("50% of R&D @ 3°", "fifty percent of R and D at three degrees"),
        ("Mr. Smith, Mr Jones and Dr. Who", "Mister Smith, Mister Jones and Doctor Who"),
        ("St. Paul's, Elm St. and Oak St.", "Saint Paul's, Elm Street and Oak Street."),
        ("Brown & Co. paid.", "Brown and Company paid."),
        ("and so on, etc.", "and so on, et cetera."),
        ("George III. died; Henry VIII did not.", "George the third died; Henry the eighth did not."),
        ("as George I think", "as George I think"),
        ("“Curly” ‘quotes’ – and -- dashes ‐ too...", "\"Curly\" 'quotes' — and — dashes - too…"),
        ("tab\tbell\x07 zero\u200bwidth soft\u00adhyphen", "tab bell zerowidth softhyphen"),
        ("cafe\u0301", "café"),
        ("−5", "minus five"),
    ],
)
def test_what_is_written_is_spoken(written: str, spoken: str) -> None:
    assert normalize_english(written) == spoken


def test_number_words_are_those_of_inflect() -> None:
    engine = inflect.engine()
    random = Random(0)
    numbers = [*range(1200), *(10**power for power in range(36)), 10**36 - 1]
    for number in numbers + [random.randrange(10 ** random.randint(4, 36)) for _ in range(500)]:
        words = engine.number_to_words(number, andword="")
        assert cardinal(number) == cardinal(str(number)) == words
        assert ordinal(number) == engine.ordinal(words)


def test_a_number_without_a_name_is_read_digit_by_digit() -> None:
    assert cardinal("1" * 37) == " ".join(["one"] * 37)
    assert normalize_english(f"${'9' * 5000}") == f"{'nine ' * 5000}dollars"
    assert normalize_english(f"{'9' * 5000}th").endswith("nine ninth")


def test_a_text_that_is_in_words_stays_as_it_is() -> None:
    text = 'He said "no", and left; the café — so he thought — was closed.'
    assert normalize_english(text) == text


def test_accents_come_off() -> None:
    assert without_accents("Café naïve Æsop œuvre Ångström") == "Cafe naive AEsop oeuvre Angstrom"


@given(st.text(max_size=60))
def test_any_text_is_normalized_and_holds_no_control_character(text: str) -> None:
    result = normalize_english(text)
    assert not any(unicodedata.category(c) == "Cc" for c in result.replace("\0", ""))
    assert result == result.strip()
    assert not re.search(r"\d", result)
    assert without_controls(without_controls(text)) == without_controls(text)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower())


@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
def test_our_words_are_those_of_the_corpus_for_97_percent_of_the_rows_that_it_normalized() -> None:
    rows = [line.split("|") for line in METADATA.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 13100
    # The corpus leaves abbreviations as they are, so they are written out on its side too: the second column holds none
    # of the digits that would change otherwise.
    different = [(raw, spoken) for _, raw, spoken in rows if raw != spoken]
    assert len(different) == 1505
    agreeing = sum(words(normalize_english(raw)) == words(normalize_english(spoken)) for raw, spoken in different)
    assert agreeing / len(different) >= 0.97
    for _, raw, spoken in rows:
        if raw == spoken:
            assert words(normalize_english(raw)) == words(normalize_english(spoken))
        assert not re.search(r"\d", normalize_english(raw))
        assert normalize_english(normalize_english(raw)) == normalize_english(raw)
    assert plain_marks("…") == "…"
