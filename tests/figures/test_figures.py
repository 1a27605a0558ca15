"""Figures of fourteen languages: the readings of a table, nothing lost, nothing that ends a run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tts_prep import doors
from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend
from tts_prep.preprocess.text.frontends.plain import CharactersFrontend
from tts_prep.preprocess.text.language_codes import normalize, rules_of
from tts_prep.preprocess.text.typography import without_controls

pytest.importorskip("unicode_rbnf", reason="unicode-rbnf is optional")

LANGUAGES = [row.name for row in doors.rooms()["figures"].rows["languages"]]
FORMS = [line.split("\t") for line in (Path(__file__).with_name("forms.tsv")).read_text("utf-8").splitlines()]
"""Language, kind, text and its readings, written before the rules: the words of grammars and of CLDR."""

SIGNS = "%‰€$£¥₽₹°+-−–—=/:.,;&@#*<>~^§º²'\"()[]"
AROUND = ("{}5", "5{}", "5{}3", "3{}5", "5 {} 3", "a{}5", "5{}a", "a {} b", "{}", "12{}34{}5678")


@pytest.mark.parametrize("language", LANGUAGES)
def test_fifteen_written_forms_of_a_language_are_read_in_words(language: str) -> None:
    rows = [row for row in FORMS if row[0] == language]
    assert len({kind for _, kind, _, _ in rows}) == len(rows) == 15
    wrong = {
        written: normalize(written, language)
        for _, _, written, readings in rows
        if normalize(written, language) not in map(without_controls, readings.split("|"))
    }
    assert wrong == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sign_is_lost_between_any_neighbours(language: str) -> None:
    for sign, around in itertools.product(SIGNS, AROUND):
        text, without = around.replace("{}", sign), around.replace("{}", "")
        read = normalize(text, language)
        kept = sum(map(read.count, {sign, *without_controls(sign)}))
        # A sign that is not there any more is in the words, which are others than those of the text without it.
        assert kept or read != normalize(without, language), (text, read)
        assert " ".join(read.split()) == read


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_without_figures_is_unchanged(language: str) -> None:
    for text in ("Wir gehen “heute” — sofort!", "мы идём домой…", "हम जाते हैं", "نذهب الآن", "a-b, c; d: e"):
        assert normalize(text, language) == without_controls(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_number_ends_a_run(language: str) -> None:
    texts = (
        "9" * 4000,
        "111 " * 1000,
        "1.111" * 800,
        "1,111" * 800,
        "1-" * 2000,
        "12:34" * 800,
        "0" * 4000 + ",5",
        "5." * 2000,
    )
    for text in (*texts, "31.12.9999", "99:99", "0.00.0000", "-0", "1" * 300 + "%", "5,%", "€", "€ -", "1e400 km"):
        assert normalize(text, language)


def test_the_phones_of_figures_are_those_of_their_words() -> None:
    frontend = EspeakFrontend("de")
    for _, _, written, readings in [row for row in FORMS if row[0] == "de"]:
        spoken = frontend.phoneticize(frontend.normalize(written))
        assert spoken in [frontend.phoneticize(reading) for reading in readings.split("|")], written


def test_a_store_knows_the_version_of_the_numbers_of_its_language() -> None:
    assert "unicode-rbnf" in EspeakFrontend("de").software()
    assert "unicode-rbnf" in CharactersFrontend("pt-br").software()
    assert "unicode-rbnf" not in EspeakFrontend("en-us").software()
    assert rules_of("sv") is None
