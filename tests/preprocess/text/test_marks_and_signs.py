"""Punctuation and signs of all scripts are mapped, spoken or counted; none is silently dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from corpora import record

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.text.frontends.frontend import UNSPOKEN_CHARACTERS
from tts_prep.preprocess.text.typography import without_controls

METADATA = Path(__file__).parents[4] / "shared" / "data" / "ljspeech-metadata.csv"


@pytest.fixture(scope="module")
def espeak():
    return get_frontend("espeak")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("你好。再见，是吗？好！一、二；三：四", "你好. 再见, 是吗? 好! 一, 二; 三: 四"),
        ("「はい」と《本》・１２：３０", "“はい”と«本» 12:30"),
        ("كيف حالك؟ بخير، شكرا؛ ۔", "كيف حالك? بخير, شكرا; ."),
        ("यह है। वह॥", "यह है. वह."),
        ("Τι κάνεις\u037e", "Τι κάνεις?"),
        ("ሰላም። ነው፣", "ሰላም. ነው,"),
        ("Բարեւ։", "Բարեւ."),
        ("„Ja“ – so ‹er›, 3–5", "“Ja“ — so «er», 3–5"),
        ("Really‼ No⁉", "Really!! No!?"),
    ],
)
def test_marks_of_other_scripts_become_their_counterparts(written: str, plain: str) -> None:
    assert without_controls(written) == plain


def test_joiners_are_kept_where_a_script_needs_them(espeak) -> None:
    # Words of Malayalam in the spelling before Unicode 5.1, and in that of today.
    for old, new in (("അവന്\u200d", "അവൻ"), ("കാല്\u200d", "കാൽ"), ("അവള്\u200d", "അവൾ"), ("കാര്\u200d", "കാർ")):
        assert without_controls(old) == new
        assert espeak.phoneticize(old, "ml") == espeak.phoneticize(new, "ml")
    # Persian separates parts of words; between other letters, a non-joiner is invisible.
    assert without_controls("می\u200cخواهم") == "می\u200cخواهم"
    assert without_controls("\u200cسلام\u200c a\u200cb क्\u200dष") == "سلام ab क्ष"


def test_marks_of_other_scripts_are_in_the_phonemes(espeak) -> None:
    assert espeak.phoneticize("你好。再见，是吗？", "cmn") == "ni2χˈɑu2. tsˈai5 tɕˈiɛ5n, s.ˈi.5 mˈɑ1?"
    assert [c for c in espeak.phoneticize("كيف حالك؟ بخير، شكرا.", "ar") if c in ",.?!"] == ["?", ",", "."]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["espeak", "arpabet", "characters"])
@pytest.mark.parametrize("text", ["It was -5 degrees.", "It was \u22125 degrees."])
def test_a_negative_number_keeps_its_minus(name: str, text: str) -> None:
    frontend = get_frontend(name)
    spoken = frontend.phoneticize(frontend.normalize(text))
    assert spoken == frontend.phoneticize("It was minus five degrees.")


@pytest.mark.parametrize("text", ["the 3-5 and A-4", "a well-known 14-year-old", "pages 3 - 5"])
def test_a_hyphen_is_no_minus(espeak, text: str) -> None:
    assert "minus" not in espeak.normalize(text)


@pytest.mark.parametrize(
    ("language", "text", "word"),
    [
        ("fr-fr", "Il faisait -5 degrés.", "moins"),
        ("es", "a -5 grados", "menos"),
        ("ru", "-5 градусов", "минус"),
        ("cmn", "气温-5度", "负"),
        ("KR", "기온은 -5 도", "마이너스"),
        ("de", "Es war -5 Grad.", "minus"),
    ],
)
def test_a_minus_is_spoken_in_other_languages(espeak, language: str, text: str, word: str) -> None:
    in_words = text.replace("-", f"{word} ")
    assert espeak.phoneticize(espeak.normalize(text, language), language) == espeak.phoneticize(in_words, language)


def remarks(frontend, text: str, language: str | None = None) -> list[str]:
    spoken = frontend.normalize(text, language)
    found = frontend.remarks(spoken, frontend.phoneticize(spoken, language), language)
    return [symbol for kind, symbol in found if kind == UNSPOKEN_CHARACTERS]


def test_what_espeak_does_not_speak_is_counted(espeak) -> None:
    assert remarks(espeak, "One (two) · three ★ four.") == ["(", ")", "·", "★"]
    assert remarks(espeak, "Don't — he said — re-enter “it”…") == []
    # A hash and a smiley are spoken.
    assert remarks(espeak, "one # two \N{GRINNING FACE}") == []
    # No word for it in this language is known here, and espeak-ng drops it.
    assert remarks(espeak, "-5", "haw") == ["-"]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["arpabet", "characters"])
def test_marks_that_are_not_spoken_are_counted(name: str) -> None:
    assert sorted(remarks(get_frontend(name), 'One (two) "three".')) == ['"', '"', "(", ")"]


@pytest.mark.whole
def test_the_summary_of_a_run_names_what_was_not_spoken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record(tmp_path / "a.wav", 0.1)
    (tmp_path / "list.txt").write_text("a.wav|One ★ two.\n", encoding="utf-8")
    status, out, _ = run(capsys, "filelist", tmp_path / "list.txt", tmp_path / "store", "--jobs", 1)
    assert status == 0
    assert "characters not spoken: 1, 1 different: '★' × 1 (first in a)" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'The Friends,' suffered", 3),
        ("Sinner,' and", 2),
        ("water, etc.) to", 3),
        ("friends,suffered", 2),
        ("off!' and", 2),
    ],
)
def test_no_mark_joins_two_words_of_attached_phonemes(espeak, text: str, words: int) -> None:
    assert len(espeak.phoneticize(text).split(" ")) == words


@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
def test_attached_phonemes_of_lj_speech_have_the_word_boundaries_of_their_texts(espeak) -> None:
    rows = [line.rstrip("\n").split("|") for line in METADATA.read_text(encoding="utf-8").splitlines()]
    texts = [row[2] for row in rows if "'" in row[2] or ")" in row[2]]
    assert len(texts) > 1000
    for text in texts:
        for mark in (", ", "! ", "; "):
            # A closing quote between mark and space is not spoken.
            expected = sum(text.count(mark[0] + closing + " ") for closing in ("", "'", ")"))
            assert espeak.phoneticize(text).count(mark) >= expected


def test_separate_punctuation_is_that_of_styletts2s_lists() -> None:
    separate = get_frontend("espeak", punctuation="separate")
    # Rows of its Data/train_list.txt have "jˈuː.ˈɛs ." and "θˈɜːɾi wˈʌn".
    assert separate.phoneticize("the U.S. Army, thirty-one.") == "ðə jˈuː.ˈɛs . ˈɑːɹmi , θˈɜːɾi wˌʌn ."
    assert get_preset("styletts2").text == {"punctuation": "separate", "heteronyms": False}


@pytest.mark.whole
def test_arpabet_keeps_words_apart_that_a_mark_separates() -> None:
    arpabet = get_frontend("arpabet")
    assert arpabet.phoneticize("and/or") == arpabet.phoneticize("and or")
    assert arpabet.phoneticize("one(two)three") == arpabet.phoneticize("one two three")


@pytest.mark.parametrize(("language", "text"), [("en-us", "ba" * 66), ("de", "7" * 26), ("ru", "да" * 80)])
def test_words_and_numbers_that_espeak_would_cut_are_refused(espeak, language: str, text: str) -> None:
    with pytest.raises(TextError, match=f"{len(text)} letters or digits in one word"):
        espeak.phoneticize(text, language)
    # Scripts without spaces have no such words; the longest that are taken come out whole.
    assert espeak.phoneticize("你好" * 60, "cmn").count("ni") == 60
    assert espeak.phoneticize("ba" * 50).count("b") == 50
