"""Digits and hyphens in all languages: read, or counted; and texts of another kind, which are named."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep import doors
from tts_prep.hints.rows import TEXT_KINDS, language_of_texts, report_kinds_of_texts
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text.frontends.frontend import LIKELY_LANGUAGE, UNSPOKEN_CHARACTERS
from tts_prep.preprocess.text.typography import without_controls


def test_every_decimal_digit_of_unicode_is_the_digit_of_its_value() -> None:
    digits = [character for character in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(character) == "Nd"]
    assert len(digits) > 600
    assert "".join(map(without_controls, digits)) == "".join(str(int(character)) for character in digits)
    assert without_controls("١٬٥٠٠٫٥٪") == "1,500.5%"


@pytest.mark.parametrize(
    ("language", "written", "in_latin_digits"),
    [
        ("ur", "۵ نومبر ۲۰۲۴", "5 نومبر 2024"),
        ("ar", "١٬٥٠٠ كتاب", "1500 كتاب"),
        ("ar", "٣٫٥ كتاب", "3.5 كتاب"),
        ("bn", "১,৫০০ টাকা", "1500 টাকা"),
        ("hi", "१,५०० रुपये", "1500 रुपये"),
        ("mr", "१,५०० रुपये", "1500 रुपये"),
        ("fa", "۱٬۵۰۰ کتاب", "1500 کتاب"),
        ("en-us", "at 12:30:٤٥ today", "at 12:30:45 today"),
    ],
)
def test_numbers_in_digits_of_other_scripts_are_read_as_those_in_latin_digits(
    language: str, written: str, in_latin_digits: str
) -> None:
    frontend = get_frontend("espeak", language=language)

    def spoken(text: str) -> str:
        # Stress is not the same where a comma is in the number.
        phonemes = frontend.phoneticize(frontend.normalize(text))
        return phonemes.replace("ˈ", "").replace("ˌ", "").replace(" ", "")

    assert spoken(written) == spoken(in_latin_digits)


@pytest.mark.parametrize("language", ["de", "fr-fr", "es", "ru", "uk", "tr", "hi", "ar", "ja", "zh", "pt"])
def test_a_hyphen_between_numbers_is_spoken_or_counted_in_every_language(language: str) -> None:
    frontend = get_frontend(language=language)
    text = {
        "ja": "数は3-1です",
        "zh": "数是3-1",
        "ar": "العدد 3-1",
        "hi": "यह 3-1 है",
        "ru": "Счёт 3-1",
        "uk": "Рахунок 3-1",
    }.get(language, "Es 3-1.")
    normalized = frontend.normalize(text)
    phonemes = frontend.phoneticize(normalized)
    counted = [symbol for kind, symbol in frontend.remarks(normalized, phonemes) if kind == UNSPOKEN_CHARACTERS]
    said = frontend.phoneticize(frontend.normalize(text.replace("-", " ")))
    assert (phonemes.replace("ˈ", "") != said.replace("ˈ", "")) or counted == ["-"]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("language", "written", "meant"),
    [
        ("ja", "9:30-11:00です", "9時30分から11時です"),
        ("ja", "5-3=2です", "5引く3=2です"),
        ("zh", "电话010-12345678。", "电话零幺零幺二三四五六七八."),
        ("zh", "5-3=2", "五减三等于二"),
    ],
)
def test_hyphens_that_are_no_minus_are_read_as_what_they_are(language: str, written: str, meant: str) -> None:
    assert get_frontend(language=language).normalize(written) == meant


# In each frontend, texts that it would read letter by letter, digit by digit, or in wrong words.
ENGLISH = "The dog was in the house of the king, and that was not the first house."
OTHER = {
    "phonemes (IPA)": "ðə dˈɔɡ wʌz ɪnðə hˈaʊs",
    "ARPAbet": "DH AH0 D AO1 G W AA1 Z",
    "pinyin with tones": "wo3 men2 qu4 chi1 fan4",
    "labels with times": "0.000000\t1.234000\tThe dog",
    "paths of recordings": "wavs/001.wav",
}


@pytest.mark.parametrize("frontend", [name for name in doors.rows("frontends") if name != "none"])
def test_every_frontend_names_texts_of_another_kind(frontend: str) -> None:
    assert {kind.name for kind in TEXT_KINDS} == set(OTHER)
    for kind in TEXT_KINDS:
        assert not kind.is_of(ENGLISH)
        reported: list[str] = []
        rows = [SourceUtterance(str(number), OTHER[kind.name], "a.wav", "list:1", "0") for number in range(3)]
        texts = TextConfig(frontend, "zh" if frontend.startswith("mandarin") else "en-us")
        assert list(report_kinds_of_texts(iter(rows), texts, reported.append)) == rows
        named = f"note: most texts look like {kind.name}; {frontend} takes them for texts"
        reads = ("phonemes (IPA)", "ARPAbet", "pinyin with tones") if frontend == "phonemes" else ()
        reads = ("pinyin with tones",) if frontend.startswith("mandarin") else reads
        assert any(line.startswith(named) for line in reported) is (kind.name not in reads)


@pytest.mark.parametrize("language", ["ja", "ko", "hi", "ru", "ar"])
def test_english_in_a_language_of_another_script_is_named(language: str) -> None:
    assert language_of_texts([ENGLISH], language) == "en"


@pytest.mark.whole
def test_english_texts_under_japanese_are_counted_and_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record(tmp_path / "a.wav")
    write_text(tmp_path / "list.txt", f"a.wav|{ENGLISH}\n")
    store = tmp_path / "store"
    status, out, _ = run(capsys, "filelist", tmp_path / "list.txt", store, "--columns", "path|text", "--language", "ja")
    assert status == 0
    assert f"note: the texts seem to be in 'en', such as '{ENGLISH[:60]}', and are read in 'ja'" in out
    assert "texts that seem to be in another language: 1, 1 different: 'en' × 1 (first in a)" in out
    # Names in Latin letters are no English text.
    japanese = get_frontend(language="ja")
    text = "私はPythonとThe Beatlesが好きです。"
    remarks = japanese.remarks(text, japanese.phoneticize(japanese.normalize(text)))
    assert LIKELY_LANGUAGE not in dict(remarks)


def test_chinese_is_no_japanese_and_pinyin_no_swedish() -> None:
    assert language_of_texts(["今天天气很好我们去公园吧", "他们正在学习中文和历史课"], "ja") == "zh"
    assert language_of_texts(["今日は天気がいいから公園へ行きましょう"] * 5, "ja") is None
    assert language_of_texts(["wo3 men2 har1 den4 men2 men2"] * 5, "zh") is None


@pytest.mark.whole
def test_label_files_beside_recordings_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # Audacity's labels, SubRip's captions, HTS's labels, a TextGrid, and a text that begins with a number.
    texts = {
        "audacity": "0.000000\t0.550000\tThe dog\n0.550000\t1.0\tran\n",
        "srt": "1\n00:00:00,000 --> 00:00:01,000\nThe dog ran.\n",
        "hts": "0 1300000 sil\n1300000 2600000 dh\n",
        "grid": 'File type = "ooTextFile"\nObject class = "TextGrid"\n',
        "text": "3.5 dogs ran 4.5 miles.\n",
    }
    for name, text in texts.items():
        record(tmp_path / f"corpus/{name}.wav")
        write_text(tmp_path / f"corpus/{name}.txt", text)
    assert run(capsys, "folder", tmp_path / "corpus", tmp_path / "store", "--max-failures", 9)[0] == 0
    failed = (tmp_path / "store/failures.jsonl").read_text(encoding="utf-8")
    assert failed.count("labels with times, expected a text") == 4
    assert '"text"' not in failed.replace('"stage"', "")
