"""Texts of another language than the default: a run is refused until somebody says the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.errors import TextError
from tts_prep.hints.rows import language_of_texts
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.language_codes import espeak_lacks, likely_language

# Ordinary sentences, written for this test.
SPANISH = (
    "El perro corre por la calle.",
    "Mañana vamos a comer con los abuelos.",
    "No sé cuando llega el tren.",
    "Me gusta leer por la noche.",
    "Las flores están en una mesa.",
    "Hay mucha gente en la plaza.",
    "Mi hermana vive en esta casa desde ayer.",
    "Todos los niños juegan al fútbol.",
    "Quiero un café con leche.",
    "La ciudad es muy bonita.",
)
POLISH = (
    "Pies biegnie przez ulicę.",
    "Jutro pójdziemy na obiad do babci.",
    "Nie wiem, kiedy przyjedzie pociąg.",
    "Wieczorem lubię czytać książki.",
    "Kwiaty stoją na stole.",
    "To jest bardzo ładne miasto.",
    "Moja siostra mieszka tutaj od wczoraj.",
    "Dzieci bawią się w ogrodzie.",
    "Czy mogę prosić o kawę?",
    "Nie ma tego w sklepie.",
)
PINYIN = ("wo3 men2 qu4 chi1 fan4", "jin1 tian1 tian1 qi4 hen3 hao3", "ni3 hao3 ma5")
ENGLISH = ("The dog runs down the street.", "Tomorrow we will eat with them.", "Los Angeles is a city in California.")


@pytest.mark.parametrize(
    ("texts", "language", "found"),
    [
        (SPANISH, "en-us", "es"),
        (POLISH, "en-us", "pl"),
        (PINYIN, "en-us", "zh"),
        (SPANISH, "es-419", None),
        (POLISH, "pl", None),
        (PINYIN, "zh", None),
        (ENGLISH, "en-gb", None),
        (ENGLISH * 5, "es", "en"),
        (ENGLISH + SPANISH[:1], "en-us", None),
        ((), "en-us", None),
        # Formats and names of files are no pinyin.
        (("an mp3 file", "the a4 page", "room b2 is closed"), "en-us", None),
        # Nothing is known of the words of this language.
        (("Koer jookseb tänaval.",) * 20, "et", None),
    ],
)
def test_the_language_of_many_texts(texts: tuple[str, ...], language: str, found: str | None) -> None:
    assert language_of_texts(texts, language) == found


def write_list(folder: Path, texts: tuple[str, ...], language: str = "") -> Path:
    for number, _ in enumerate(texts):
        record(folder / f"{number}.wav")
    rows = "".join(f"{number}.wav|{text}|{language}\n" for number, text in enumerate(texts))
    (folder / "list.txt").write_text(rows, encoding="utf-8")
    return folder / "list.txt"


@pytest.mark.whole
def test_a_run_ends_before_foreign_texts_are_read_in_the_default_language(capsys, tmp_path: Path) -> None:
    listed = write_list(tmp_path, SPANISH)
    command = ("filelist", listed, tmp_path / "store", "--columns", "path|text|-", "--jobs", 1)
    status, _, error = run(capsys, *command)
    assert status == 2
    assert "the texts seem to be in 'es', such as 'El perro corre por la calle.'" in error
    assert "give --language es, or --language en-us if it is right" in error
    assert run(capsys, *command, "--language", "es")[0] == 0


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        # Words that differ in vowels or tones alone, and have the same phones.
        ("th", "ข่าว", "ข้าว"),
        ("cmn", "妈", "骂"),
        ("ja", "日", "本"),
    ],
)
def test_phones_that_are_said_to_lack_something_do(language: str, one: str, other: str) -> None:
    espeak = get_frontend("espeak", language=language, symbols=None)
    try:
        same = espeak.phoneticize(one).strip("ˈ ") == espeak.phoneticize(other).strip("ˈ ")
    except TextError:
        # Chinese characters are refused in Japanese.
        same = True
    assert same
    assert espeak_lacks(language)


def test_hebrew_has_no_vowels() -> None:
    # "katav": he wrote.
    assert not set("aeiouə") & set(get_frontend("espeak", language="he").phoneticize("כתב"))


@pytest.mark.whole
def test_a_run_says_once_what_phones_lack(capsys, tmp_path: Path) -> None:
    listed = write_list(tmp_path, ("สวัสดีครับ", "ภาษาไทย"))
    status, out, _ = run(capsys, "filelist", listed, tmp_path / "store", "--language", "th", "--jobs", 1)
    assert status == 0
    assert out.count("note: phones of espeak-ng for 'th' are incomplete: most vowels and some tones are missing") == 1
    lines = run(capsys, "languages")[1].splitlines()
    assert "he                    Hebrew (no vowels, which the script does not write)" in lines
    assert "de                    German" in lines


@pytest.mark.whole
@pytest.mark.parametrize("frontend", ["espeak", "arpabet", "characters"])
def test_single_rows_in_another_language_are_counted_and_named(capsys, tmp_path: Path, frontend: str) -> None:
    english = ["The ship sailed from the old port in the morning, and it was not the first."] * 20
    others = {
        "es": "El perro está en la casa con los niños, pero no para mí.",
        "pl": "To nie jest tak, jak się wydaje.",
        "de": "Der Hund ist nicht im Haus.",
        "zh": "ni3 hao3 ma5, wo3 hen3 hao3.",
    }
    corpus = tmp_path / "corpus"
    rows = [*english, *others.values()]
    for number in range(len(rows)):
        record(corpus / f"wavs/r{number}.wav")
    write_text(corpus / "metadata.csv", "".join(f"r{number}|{text}\n" for number, text in enumerate(rows)))
    options = ("--frontend", frontend, "--unknown", "drop", "--jobs", 1)
    status, out, _ = run(capsys, "ljspeech", corpus, tmp_path / "store", *options)
    line = next(line for line in out.splitlines() if line.startswith("texts that seem to be in another language"))
    assert (status, line.partition(":")[2].startswith(" 4, 4 different: ")) == (0, True)
    for number, language in enumerate(others, len(english)):
        assert f"'{language}' × 1 (first in r{number})" in line


@pytest.mark.parametrize(
    "text",
    ["Channel two page three line four.", "Men two, women three.", "From one to five.", "I ran 5 and she ran 4."],
)
def test_numbers_behind_english_words_are_no_tones(text: str) -> None:
    assert likely_language(text, "en-us") is None


@pytest.mark.whole
def test_a_language_in_the_settings_or_rows_is_a_confirmation(capsys, tmp_path: Path) -> None:
    listed = write_list(tmp_path, SPANISH[:4], "es")
    command = ("filelist", listed, "--jobs", 1)
    assert run(capsys, *command, tmp_path / "a", "--columns", "path|text|language")[0] == 0
    settings = tmp_path / "settings.toml"
    settings.write_text('[text]\nlanguage = "en-us"\n', encoding="utf-8")
    assert run(capsys, *command, tmp_path / "b", "--columns", "path|text|-", "--config", settings)[0] == 0
