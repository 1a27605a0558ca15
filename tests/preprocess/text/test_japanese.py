"""The frontends ``japanese`` and ``japanese-prosody``."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("pyopenjtalk")
pytest.importorskip("onnxruntime")

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.preprocess.text import get_frontend


@pytest.fixture(scope="module")
def phones():
    return get_frontend("japanese")


@pytest.fixture(scope="module")
def prosody():
    return get_frontend("japanese-prosody")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("こんにちは、世界。", "k o N n i ch i w a , s e k a i ."),
        ("「はい」と言った！", "h a i t o i cl t a !"),
        ("何ですか？", "n a N d e s U k a ?"),
        ("3.14は５０％", "s a N t e N i ch i y o N w a g o j u cl p a a s e N t o"),
        ("12:30に-3℃", "j u u n i j i s a N j u cl p u N n i m a i n a s u s a N d o"),
        ("¥500です", "g o hy a k u e N d e s U"),
    ],
)
def test_phones_are_those_of_open_jtalk_with_marks_in_their_places(phones, text: str, expected: str) -> None:
    made = phones.phoneticize(phones.normalize(text))
    assert made == expected
    assert phones.decode(phones.numericalize(made)) == made


# The first is the example that ESPnet's documentation gives; 橋, 箸 and 端 differ in accent alone.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("こんにちは。", "^ k o [ N n i ch i w a $"),
        ("橋です。", "^ h a [ sh i ] d e s u $"),
        ("箸です。", "^ h a ] sh i d e s u $"),
        ("端です。", "^ h a [ sh i d e ] s u $"),
        ("何ですか？", "^ n a ] N d e s u k a ?"),
        ("水、木。", "^ m i [ z u _ k i $"),
    ],
)
def test_prosody_is_marked_as_in_espnet(prosody, text: str, expected: str) -> None:
    made = prosody.phoneticize(prosody.normalize(text))
    assert made == expected
    assert prosody.decode(prosody.numericalize(made)) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("？！", "nothing to speak"),
        ("☃", "nothing to speak"),
        ("東京😀", "cannot read '😀'"),
        ("한국です", "cannot read '한'"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_that_text(phones, text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        phones.phoneticize(phones.normalize(text))


def test_results_do_not_depend_on_what_came_before(phones) -> None:
    text = "東京は、何時ですか？"
    alone = phones.phoneticize(text)
    for other in ("何", "ー", "橋と端", "12345678901234567890", "ああああ" * 100):
        try:
            phones.phoneticize(other)
        except TextError:
            continue
    assert phones.phoneticize(text) == alone
    assert "pyopenjtalk-plus" in phones.software()


def test_another_language_is_refused_and_a_missing_package_says_what_to_install(monkeypatch) -> None:
    with pytest.raises(ConfigurationError, match="supports Japanese only, found 'zh'"):
        get_frontend("japanese", language="zh")
    with pytest.raises(TextError, match="supports Japanese only, the text is in 'en-us'"):
        get_frontend("japanese").phoneticize("はい", "en-us")
    monkeypatch.setitem(sys.modules, "pyopenjtalk", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tts-prep\[ja\]'"):
        get_frontend("japanese")


def test_a_text_that_would_take_minutes_is_refused() -> None:
    with pytest.raises(TextError, match="501 characters, the frontend 'japanese' supports at most 500"):
        get_frontend("japanese", language="ja").phoneticize("あ" * 501)
