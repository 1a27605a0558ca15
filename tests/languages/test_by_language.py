"""Several frontends in one corpus, of which the language of a text chooses."""

from __future__ import annotations

import pytest

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess import get_frontend


@pytest.mark.whole
def test_each_language_of_a_corpus_has_its_frontend_and_all_share_one_table() -> None:
    pytest.importorskip("pypinyin")
    pytest.importorskip("rjieba")
    both = get_frontend("espeak,zh=mandarin")
    texts = {"en-us": "Hello, world!", "zh-cn": "你好，世界！", "de": "Guten Tag."}
    for language, text in texts.items():
        phonemes = both.phoneticize(both.normalize(text, language), language)
        assert both.decode(both.numericalize(phonemes)) == phonemes
    assert both.phoneticize("你好", "zh-cn") == get_frontend("mandarin").phoneticize("你好")
    english = both.split(both.phoneticize("Hello, world!"))
    assert "".join(english) == get_frontend("espeak").phoneticize("Hello, world!")
    # The table of the first comes first, so its ids stay.
    alone = get_frontend("espeak", symbols="espeak")
    assert both.numericalize(both.phoneticize("Hello")).tolist() == alone.numericalize("həlˈoʊ").tolist()
    assert len(set(both.vocab.symbols)) == len(both.vocab) - 1
    assert {"espeak-ng", "pypinyin"} <= both.software().keys()


@pytest.mark.whole
def test_a_shared_table_may_be_given() -> None:
    pytest.importorskip("pypinyin")
    pytest.importorskip("rjieba")
    both = get_frontend("en=phonemes,zh=mandarin", symbols="fastspeech2", language="en")
    assert both.split(both.phoneticize("{HH AW1}", "en")) == ["@HH", "@AW1"]
    assert both.split(both.phoneticize("你好", "zh")) == ["@n", "@i2", "@h", "@ao3"]


def test_a_language_without_a_frontend_costs_its_utterances() -> None:
    some = get_frontend("en=espeak,de=espeak")
    with pytest.raises(TextError, match="no frontend for the language 'fr'; given are en, de"):
        some.phoneticize("Bonjour", "fr")


@pytest.mark.parametrize("names", ["espeak,espeak", "en=", "=espeak", "en=espeak,,", "en=espeak,en=arpabet"])
def test_frontends_by_language_that_say_nothing_clear_are_refused(names: str) -> None:
    with pytest.raises(ConfigurationError, match="frontend: expected"):
        get_frontend(names)
