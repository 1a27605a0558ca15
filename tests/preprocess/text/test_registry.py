"""Frontends by name and by language, several in one corpus, and those of other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from plugins import install
from test_frontends import resident_bytes

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.text.frontends.frontend import default_frontend

if sys.version_info >= (3, 11):
    pass
else:
    pass


@pytest.mark.whole
@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("en-us", "espeak"),
        ("de", "espeak"),
        ("zh", "mandarin"),
        ("zh-CN", "mandarin"),
        ("cmn", "mandarin"),
        ("zh-hk", "espeak"),
        ("yue", "espeak"),
        ("cmn-latn-pinyin", "espeak"),
        ("ja", "japanese"),
    ],
)
def test_a_language_has_a_frontend_by_default(language: str, name: str) -> None:
    assert default_frontend(language) == name
    assert Configuration(text=TextConfig(language=language)).as_dict()["text"]["frontend"] == name


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


def test_a_frontend_that_cannot_be_loaded_says_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path / "site", "broken", {"tts_prep.frontends": {"broken": "no_such_module:Frontend"}})
    with pytest.raises(ConfigurationError, match="'broken' of no_such_module:Frontend cannot be loaded"):
        get_frontend("broken")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "package", "text"),
    [
        ("mandarin", "rjieba", "今天天气很好，我们花3.5元去散步吧。"),
        ("mandarin-ipa", "rjieba", "今天天气很好，我们花3.5元去散步吧。"),
        ("japanese", "pyopenjtalk", "今日は天気がいいから、3時に散歩に行きましょう。"),
        ("japanese-prosody", "pyopenjtalk", "今日は天気がいいから、3時に散歩に行きましょう。"),
    ],
)
def test_ten_thousand_utterances_leak_no_memory(name: str, package: str, text: str) -> None:
    pytest.importorskip(package)
    frontend = get_frontend(name)

    def run_times(count: int) -> None:
        for _ in range(count):
            frontend.numericalize(frontend.phoneticize(frontend.normalize(text)))

    run_times(2000)
    before = resident_bytes()
    run_times(10_000)
    # A leak of one short text an utterance would be a megabyte.
    assert resident_bytes() - before < 900_000
