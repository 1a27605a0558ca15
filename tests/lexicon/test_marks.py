"""Marks in texts that are not speech, and phones that are written in texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.inference import frontend_of
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.preprocess.make.phonemizing import TextReader

PLAIN = {
    "Rock &amp; roll.": "Rock & roll.",
    "It&#39;s <b>bold</b> and **very** good.": "It's bold and very good.",
    "# A heading": "A heading",
    "Oh <laugh> no [noise] it is.": "Oh no it is.",
    "[S1] Hello there. [S2] Hi!": "Hello there. Hi!",
    "This _so_ *much* `code`": "This so much code",
    "[Kokoro](/kˈOkəɹO/) is a [model](https://x.y/z).": "Kokoro is a model.",
    "I say [[ həlˈoʊ ]] to you.": "I say to you.",
    "Well<|endoftext|>": "Well",
}
FRONTENDS = ["espeak", "arpabet", "characters"]


def reader(**settings: object) -> TextReader:
    return TextReader(TextConfig(**settings))  # type: ignore[arg-type]


@pytest.mark.whole
@pytest.mark.parametrize("frontend", FRONTENDS)
def test_marks_are_left_out_and_counted_in_every_frontend(frontend: str) -> None:
    found, failing, before = (
        reader(frontend=frontend),
        reader(frontend=frontend, marks="error"),
        reader(frontend=frontend, marks="text"),
    )
    for text, plain in PLAIN.items():
        _, phonemes, remarks = found.read(text, None, False)
        assert phonemes == before.read(plain, None, False)[1]
        assert [kind for kind, _ in remarks].count("marks_not_spoken") >= 1
        with pytest.raises(TextError, match="--marks remove leaves it out"):
            failing.read(text, None, False)
        assert found.read(plain, None, False) == before.read(plain, None, False)


@pytest.mark.parametrize(
    "text", ["2*3*4", "x < y and z > 3", "[the king] said, [sic].", "a_b_c", "AT&T", "5 * 3 * 2", "#1", "A & B;"]
)
def test_what_only_looks_like_a_mark_is_text(text: str) -> None:
    assert reader().read(text, None, False) == reader(marks="text").read(text, None, False)


def test_a_mark_in_the_table_is_its_symbol() -> None:
    letters = [chr(code) for code in range(97, 123)]
    symbols = ("<pad>", "<laugh>", "[S1]", " ", ".", ",", *letters)
    frontend = reader(frontend="characters", symbols=symbols)
    _, phonemes, remarks = frontend.read("[S1] No <laugh> no, <b>no</b> <laugh>.", None, False)
    assert phonemes == "[S1] no <laugh> no, no <laugh>."
    assert remarks == (("marks_not_spoken", "<b>"), ("marks_not_spoken", "</b>"))
    ids = frontend.frontend.numericalize(phonemes)
    assert [symbols[i] for i in ids][:6] == ["[S1]", " ", "n", "o", " ", "<laugh>"]


@pytest.mark.whole
def test_phones_in_a_text_are_read_in_the_notation_of_the_frontend() -> None:
    read = reader(marks="phones", heteronyms=False, symbols="kokoro").read
    assert read("[Kokoro](/kˈOkəɹO/) is a [model](https://x.y/z).", None, False)[1].startswith("kˈOkəɹO ɪz ə ")
    assert read("I say [[ hˈoʊ ]] to you.", None, False) == ("I say  to you.", "I sˈA hˈoʊ tə ju.", ())
    assert (
        reader(marks="phones", frontend="arpabet").read("I say [[ HH OW1 ]].", None, False)[1]
        == "AY1 ▁ S EY1 ▁ HH OW1 ▁ ."
    )
    for text in ("[a](/☃/) b", "[[ ☃ ]] b"):
        with pytest.raises(TextError, match="the mark .* not in the table of the frontend"):
            read(text, None, False)
    with pytest.raises(ConfigurationError, match="marks: expected one of remove, error, phones, text, found 'all'"):
        TextConfig(marks="all")


@pytest.mark.whole
def test_a_store_with_phones_in_its_texts_has_them_at_inference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("[Kokoro](/kˈoʊkəɹoʊ/) speaks.", "A <b>bold</b> word [[ zˈuː ]].", "Nothing else.")
    for number, _ in enumerate(texts):
        sound = np.rint(speech_like(1.0, number) * 20_000).astype(np.int16)
        soundfile.write(tmp_path / f"{number}.wav", sound, SAMPLE_RATE)
    (tmp_path / "list.txt").write_text("".join(f"{i}.wav|{text}\n" for i, text in enumerate(texts)), encoding="utf-8")
    command = ("filelist", tmp_path / "list.txt", tmp_path / "store", "--columns", "path|text", "--preset", "hifigan")
    status, out, err = run(capsys, *command, "--marks", "phones")
    assert status == 0, err
    dataset, frontend = UtteranceDataset(tmp_path / "store"), frontend_of(tmp_path / "store")
    assert [frontend(one.text).tolist() for one in dataset] == [one.phonemes.tolist() for one in dataset]
    assert dataset[0].phoneme_text.startswith("kˈoʊkəɹoʊ ")
    assert dataset[1].phoneme_text.endswith(" zˈuː.")
    assert "marks not spoken: 2, 2 different: '</b>' × 1 (first in 1), '<b>' × 1" in out


def test_hostile_texts_take_no_time() -> None:
    read = reader(frontend="characters").read
    for text in (
        "[" * 50_000 + "a",
        "<" * 50_000 + "a",
        "*a" * 30_000,
        "&#1" * 30_000,
        "[a](" * 20_000,
        "[[a" * 20_000,
        "`" * 50_000 + "a",
    ):
        read(text, None, False)
