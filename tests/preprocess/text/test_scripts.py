"""Texts in another script or language than declared."""

from __future__ import annotations

import pytest
from commands import run

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import FOREIGN_LETTERS, LIKELY_LANGUAGE, OTHER_LANGUAGE
from tts_prep.preprocess.text.language_codes import check_script, likely_language


@pytest.mark.parametrize(
    ("text", "language", "message"),
    [
        ("你好世界", "en-us", "in Chinese letters, but the language 'en-us' is written in Latin letters"),
        ("Hello there", "ru", "in Latin letters, but the language 'ru' is written in Cyrillic letters"),
        ("Привет", "ja", "in Cyrillic letters, .* written in Chinese or Hiragana or Katakana letters"),
    ],
)
def test_a_text_in_another_script_fails(text: str, language: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        check_script(text, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Windows für alle", "de"),
        ("Это Windows", "ru"),
        ("ＡＢＣ", "en"),
        ("12:30", "ru"),
        ("β", "en"),
        ("Добар dan", "sr"),
    ],
)
def test_a_text_with_a_letter_of_its_script_is_taken(text: str, language: str) -> None:
    check_script(text, language)


def test_chinese_characters_that_espeak_reads_in_english_fail() -> None:
    with pytest.raises(TextError, match="espeak-ng reads words of '東京は' in another language, 'en'"):
        get_frontend("espeak", language="ja").phoneticize("東京は")


def test_what_is_spoken_in_another_language_is_counted() -> None:
    german = get_frontend("espeak", language="de")
    text = "Der Download ist fertig."
    phonemes = german.phoneticize(text)
    assert "(" not in phonemes
    assert [kind for kind, _ in german.remarks(text, phonemes)] == [OTHER_LANGUAGE]
    # Remarks are of the text that is asked for, whatever was spoken before.
    assert not list(german.remarks("Der Hund.", german.phoneticize("Ein Download.")))
    english = get_frontend("espeak")
    text = "The word 世 is Chinese."
    assert (FOREIGN_LETTERS, "世") in list(english.remarks(text, english.phoneticize(text)))
    text = "Der Hund ist nicht mit dem Ball hier."
    assert (LIKELY_LANGUAGE, "de") in list(english.remarks(text, english.phoneticize(text)))


@pytest.mark.parametrize(
    ("text", "language", "likely"),
    [
        ("Der Hund ist nicht mit uns.", "en-us", "de"),
        ("Le chien est dans la maison avec nous.", "en-us", "fr"),
        ("The dog was in the house of the king.", "de", "en"),
        ("The dog was in the house of the king.", "en-gb", None),
        ("La dolce vita, der Die Das", "en", None),
        ("Der Hund ist nicht mit uns.", "ru", "de"),
        ("", "en", None),
    ],
)
def test_common_words_tell_a_language(text: str, language: str, likely: str | None) -> None:
    assert likely_language(text, language) == likely


@pytest.mark.whole
def test_languages_and_frontends_are_listed(capsys) -> None:
    status, out, _ = run(capsys, "languages")
    assert status == 0
    assert {"en-us", "de", "fr-fr", "cmn"} <= {line.split()[0] for line in out.splitlines()}
    status, out, _ = run(capsys, "frontends")
    assert (status, out.splitlines()[0].split()[0]) == (0, "espeak")
    assert "mandarin" in out
