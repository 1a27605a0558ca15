"""Korean and Mandarin words and sentences, whose pronunciations were written down before the frontends were run.

Korean is by the sections of the standard pronunciation (표준 발음법) that each line names; Mandarin by 现代汉语词典.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tts_prep.preprocess import get_frontend

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[list[str]]:
    return [line.split("|") for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()]


def test_korean_is_read_by_the_standard_pronunciation() -> None:
    pytest.importorskip("ko_speech_tools")
    pytest.importorskip("mecab_ko")
    frontend = get_frontend("korean", language="ko")
    assert len(rows("korean")) == 80
    wrong = {}
    for text, expected, _ in rows("korean"):
        said = "".join(symbol for symbol in frontend.phoneticize(text).split() if symbol != "▁")
        if said != unicodedata.normalize("NFD", expected.replace(" ", "")):
            wrong[text] = unicodedata.normalize("NFC", said)
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "said"), [("밟아", "발바"), ("밟히다", "발피다"), ("밟고", "밥꼬"), ("맛없어", "마덥써"), ("넓은", "널븐")]
)
def test_korean_words_beside_those_that_are_respelled(text: str, said: str) -> None:
    pytest.importorskip("ko_speech_tools")
    pytest.importorskip("mecab_ko")
    found = get_frontend("korean", language="ko").phoneticize(text)
    assert found.replace(" ", "") == unicodedata.normalize("NFD", said)


def syllables(text: str) -> list[str]:
    frontend = get_frontend("mandarin-pinyin", language="zh")
    return [symbol for symbol in frontend.phoneticize(frontend.normalize(text)).split() if symbol[-1].isdigit()]


POLYPHONES_OTHERWISE = {
    # Third tones before third tones: the table has the tones of the dictionary.
    "老师给我们讲课。": "gei2",
    "军队的给养已经用完。": "ji2",
    "处理问题要冷静。": "chu2",
    # The dictionary has the neutral tone in 头发.
    "我的头发长了。": "fa5",
}


def test_polyphones_of_mandarin() -> None:
    pytest.importorskip("pypinyin")
    assert len(rows("polyphones")) == 60
    wrong = {}
    for text, character, expected in rows("polyphones"):
        place = [letter for letter in text if "\u4e00" <= letter <= "\u9fff"].index(character)
        if (said := syllables(text)[place]) != expected:
            wrong[text] = said
    assert wrong == POLYPHONES_OTHERWISE


SANDHI_OTHERWISE = {
    # The dictionary permits both.
    "葡萄": "pu2 tao2",
    # The neutral tone of the standard, where Baker's annotation of a speaker has full tones: 不 in 100 of 112 places
    # between a verb and its complement, 上 and 里 in 288 of 298 behind nouns.
    "对不起": "dui4 bu4 qi3",
    "东西都在桌子上": "dong1 xi5 dou1 zai4 zhuo1 zi5 shang4",
}


def test_tone_sandhi_and_neutral_tones_of_mandarin() -> None:
    pytest.importorskip("pypinyin")
    assert len(rows("sandhi")) == 60
    said = {text: " ".join(syllables(text)) for text, _ in rows("sandhi")}
    assert {text: said[text] for text, expected in rows("sandhi") if said[text] != expected} == SANDHI_OTHERWISE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("很长大", "hen2 zhang3 da4"),
        ("有空气", "you3 kong1 qi4"),
        ("尽快", "jin3 kuai4"),
        ("多数着急", "duo1 shu4 zhao2 ji2"),
        ("我得去", "wo2 dei3 qu4"),
        ("跑得快", "pao3 de5 kuai4"),
        ("姓单", "xing4 shan4"),
    ],
)
def test_words_beside_those_of_the_rules_for_polyphones(text: str, expected: str) -> None:
    pytest.importorskip("pypinyin")
    assert " ".join(syllables(text)) == expected
