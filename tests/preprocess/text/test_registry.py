"""Frontends by name and by language, and those of other packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory import in_use
from plugins import install

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.text.frontends.frontend import default_frontend


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
    objects, allocated = in_use()
    run_times(10_000)
    now = in_use()
    # A leak of one object, or of the smallest allocation, an utterance would be twice as much.
    assert now[0] - objects < 5_000
    if not now[1]:
        pytest.skip("the C library does not say what it has allocated")
    assert now[1] - allocated < 160_000
