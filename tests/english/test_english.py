from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.english import normalization
from tts_prep.english.normalization import normalize_english
from tts_prep.english.numbers import cardinal, ordinal
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
        ("12:30pm", "twelve thirty p.m."),
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
        ("“Curly” ‘quotes’ – and -- dashes ‐ too...", "\"Curly\" 'quotes' — and — dashes — too…"),
        ("tab\tbell\x07 zero\u200bwidth soft\u00adhyphen", "tab bell zerowidth softhyphen"),
        ("cafe\u0301", "café"),
        ("−5", "minus five"),
        ("World War II and Chapter IV", "World War two and Chapter four"),
        ("in this chapter I say", "in this chapter I say"),
        ("since 9/11", "since nine eleven"),
        ("2.5x faster", "two point five x faster"),
        ("He is 5'10\" tall.", "He is five feet ten inches tall."),
        ('She is "28" now', 'She is "twenty-eight" now'),
        ("$.50 or US$5 a day; $20/mo", "fifty cents or five US dollars a day; twenty dollars per month"),
        ("¥30 billion", "thirty billion yen"),
        ("on Elm St. It rained.", "on Elm Street. It rained."),
        ("Bury St. Edmunds and Giltspur St. Compter", "Bury Saint Edmunds and Giltspur Street Compter"),
        ("call 555-123-4567", "call five five five, one two three, four five six seven"),
        ("+44 (123) 456-7890", "plus four four, one two three, four five six, seven eight nine zero"),
        ("run 5 km at 20 °C", "run five kilometers at twenty degrees Celsius"),
        ("a 5-km race, 1 kg, 60 mph", "a five-kilometer race, one kilogram, sixty miles per hour"),
        ("on Mar. 3, 2021", "on March third, twenty twenty-one"),
        ("2021-03-03", "March third, twenty twenty-one"),
        ("by 12 May 1920 or the 14th June", "by the twelfth of May nineteen twenty or the fourteenth June"),
        ("15.01.2020", "the fifteenth of January twenty twenty"),
        # As LJ Speech has it.
        ("November 22, 1963", "November twenty-two, nineteen sixty-three"),
        ("1914–18, 1914-1918", "nineteen fourteen to eighteen, nineteen fourteen to nineteen eighteen"),
        ("pages 3-5; 10–20 people", "pages three to five; ten to twenty people"),
        ("$50-$100", "fifty dollars to one hundred dollars"),
        ("a score of 3-5", "a score of three to five"),
        ("mail a.b1@mail.com", "mail a dot b one at mail dot com"),
        ("see www.example.org/a", "see W W W dot example dot org slash a"),
        ("at 127.0.0.1", "at one two seven dot zero dot zero dot one"),
        ("from 5pm to 7 p.m. EST", "from five p.m. to seven p.m. E S T"),
        ("4 1/2 cups, 3/100", "four and a half cups, three hundredths"),
        ("the 1th", "the one th"),
    ],
)
def test_what_is_written_is_spoken(written: str, spoken: str) -> None:
    assert normalize_english(written) == spoken


def test_number_words_are_those_of_a_table_of_inflect() -> None:
    for row in (Path(__file__).parent / "data/number_words.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        number, words, words_in_order = row.split("\t")
        assert cardinal(number) == cardinal(int(number)) == words
        assert ordinal(number) == words_in_order


@pytest.mark.soak
def test_number_words_are_those_of_inflect() -> None:
    # Takes seconds to import.
    import inflect

    engine = inflect.engine()
    random = Random(0)
    numbers = [*range(1200), *(10**power for power in range(36)), 10**36 - 1]
    for number in numbers + [random.randrange(10 ** random.randint(4, 36)) for _ in range(1000)]:
        words = engine.number_to_words(number, andword="")
        assert cardinal(number) == cardinal(str(number)) == words
        assert ordinal(number) == engine.ordinal(words)


def test_a_number_without_a_name_is_read_digit_by_digit() -> None:
    assert cardinal("1" * 37) == " ".join(["one"] * 37)
    assert normalize_english(f"${'9' * 5000}") == f"{'nine ' * 5000}dollars"
    assert normalize_english(f"{'9' * 5000}th").endswith("nine ninth")


@pytest.mark.parametrize("piece", ["1", ".", "a.", "a-", "1.", "_", "/.-"])
def test_long_texts_without_spaces_are_searched_for_addresses_once(piece: str) -> None:
    # A search that begins anew at every character takes minutes for such a text.
    text = f"{piece * 50_000}. Write to me@x.com."
    assert normalize_english(text).endswith(" Write to me at x dot com.")


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
    # Most rows are words already: those with anything else, and every tenth of the others.
    for number, (_, raw, _) in enumerate(rows):
        if number % 10 == 0 or not re.fullmatch(r"[A-Za-z ,;.'\"-]*", raw):
            normalized = normalize_english(raw)
            assert not re.search(r"\d", normalized)
            assert normalize_english(normalized) == normalized
    assert plain_marks("…") == "…"


@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
def test_abbreviations_of_lj_speechs_third_column_are_spoken_as_the_corpus_means_them() -> None:
    rows = [line.split("|")[2] for line in METADATA.read_text(encoding="utf-8").splitlines()]
    abbreviation = re.compile(
        r"\b(Dr|Drs|Mr|Mrs|Messrs|St|Co|Jr|Maj|Gen|Lt|Sgt|Hon|Rev|Capt|Esq|Inc|Ltd|Ft|Col)\b\.|\betc\."
    )
    texts = [text for text in rows if abbreviation.search(text)]
    assert len(texts) > 500
    spoken = [normalize_english(text) for text in texts]
    assert not [text for text in spoken if abbreviation.search(text)]
    counts = Counter(word for text in spoken for word in words(text))
    written = Counter(word for text in texts for word in words(text))
    # "Dr." is a doctor 59 times and never a drive; of 16 "St." one is a street, Giltspur Street.
    assert counts["doctor"] - written["doctor"] == 59 + 1
    assert counts["drive"] == written["drive"]
    assert (counts["saint"] - written["saint"], counts["street"] - written["street"]) == (15, 1)


FRAGMENTS = (
    *(
        "$",
        "£",
        "€",
        "No.",
        "Nos.",
        "no.",
        "#",
        "%",
        "°",
        "°C",
        " p.m.",
        " a.m.",
        "o'clock",
        "kg",
        "km/h",
        "mph",
        "lb.",
    ),
    *(
        " hours",
        "/",
        "-",
        "–",
        "\u2212",
        ":",
        ".",
        ",",
        "th",
        "st",
        "B.C.",
        "vs.",
        "Fig.",
        "pp.",
        "Ch.",
        "v.",
        "x",
        "~",
    ),
    *(
        "II",
        "XL",
        "IV",
        " I ",
        "Chapter ",
        "Henry ",
        "a",
        "million",
        "half",
        " ",
        " ",
        " ",
        "<b>",
        "</b>",
        "±",
        "√",
        "·",
    ),
    *("C#", "©", "²", "½", "٣", "五", "7", "Box ", "Room ", "C-", "e-mail@x.com", "www.", "(", ")", "[", "]", "'", '"'),
)
FRAGMENT_TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)


def without_guards(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(normalization, "_has_numbers", lambda text: True)
        return normalize_english(text)


@given(FRAGMENT_TEXTS | st.text(max_size=60))
def test_rules_for_numbers_change_no_text_without_a_number(text: str) -> None:
    assert without_guards(text, pytest.MonkeyPatch()) == normalize_english(text)


@given(st.text(max_size=20) | FRAGMENT_TEXTS)
def test_a_text_has_numbers_if_one_of_its_characters_is_numeric(text: str) -> None:
    assert normalization._has_numbers(text) == any(map(str.isnumeric, text))


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
def test_rules_for_numbers_change_none_of_lj_speechs_texts_without_a_number(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    texts = [line.split("|")[1] for line in METADATA.read_text(encoding="utf-8").splitlines()]
    plain = [text for text in texts if not any(map(str.isnumeric, text))]
    assert len(plain) > 10_000
    plain = plain[::step]
    guarded = list(map(normalize_english, plain))
    monkeypatch.setattr(normalization, "_has_numbers", lambda text: True)
    assert list(map(normalize_english, plain)) == guarded


ROMAN_TEXTS = st.lists(
    st.sampled_from(
        ("Chapter", "chapter ", "Type", "Henry", "John", "Louis", " ", "I", "V", "X", "L", "C", "CE", ".", "'")
    )
).map("".join)


@given(ROMAN_TEXTS)
def test_a_text_that_is_not_searched_for_numerals_has_none(text: str) -> None:
    roman = sys.modules["tts_prep.english.numbers"]
    unguarded = roman._COUNTED.sub(roman._counted, roman._REIGN.sub(roman._reign, text))
    assert roman.roman(text) == unguarded
