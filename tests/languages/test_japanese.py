"""The frontends ``japanese`` and ``japanese-prosody``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.preprocess import get_frontend

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True, scope="module")
def libraries() -> None:
    """Import them now: they start threads, which the forks of a process do not have."""
    pytest.importorskip("pyopenjtalk")
    pytest.importorskip("onnxruntime")


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
        # NFKC makes three full stops of an ellipsis, which the table has as its own symbol.
        ("そうですか…", "s o o d e s U k a …"),
        ("ええ‥はい……。", "e e … h a i ."),
        ("あの⋯", "a n o …"),
    ],
)
def test_phones_are_those_of_open_jtalk_with_marks_in_their_places(phones, text: str, expected: str) -> None:
    made = phones.phoneticize(phones.normalize(text))
    assert made == expected
    assert phones.decode(phones.numericalize(made)) == made


def _hepburn(phones: str) -> str:
    """Return phones in letters: of a double consonant the letter twice, and of an unvoiced vowel the vowel."""
    letters = " ".join(phone if phone == "N" else phone.lower() for phone in phones.split() if phone.isalpha())
    return re.sub(r"cl (.)", r"\1 \1", letters.replace("pau", "")).replace(" ", "")


READINGS = [line.split("\t") for line in (DATA / "japanese_readings.tsv").read_text(encoding="utf-8").splitlines()]


# Readings by the standard, written by hand: は, へ and を as wa, e and o, and the sound changes of counters.
@pytest.mark.parametrize(("text", "reading"), [row[1:] for row in READINGS])
def test_particles_and_counters_are_read_by_the_standard_as_open_jtalk_reads_them(
    phones, text: str, reading: str
) -> None:
    import pyopenjtalk

    made = phones.phoneticize(phones.normalize(text))
    assert _hepburn(made) == reading.replace(" ", "")
    assert [phone for phone in made.split() if phone.isalpha()] == [
        phone for phone in pyopenjtalk.g2p(text).split() if phone != "pau"
    ]


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
        # The accents of NHK's dictionary: 雨 1, 飴 0, 花 2, 鼻 0, 頭 3, 命 1, 日本 2.
        ("雨が降る。", "^ a ] m e g a # f u ] r u $"),
        ("飴を食べる。", "^ a [ m e o # t a [ b e ] r u $"),
        ("花が咲く。", "^ h a [ n a ] g a # s a [ k u $"),
        ("鼻が高い。", "^ h a [ n a g a # t a [ k a ] i $"),
        ("頭が痛い。", "^ a [ t a m a ] g a # i [ t a ] i $"),
        ("命を守る。", "^ i ] n o ch i o # m a [ m o ] r u $"),
        ("日本へ行く。", "^ n i [ h o ] N e # i [ k u $"),
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
