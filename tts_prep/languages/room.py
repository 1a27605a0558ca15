"""Mandarin, Japanese and Korean."""

from tts_prep.doors import Room, Row

_CHINESE = "tts_prep.languages.chinese.frontend"
_JAPANESE = "tts_prep.languages.japanese"

ROOM = Room(
    {
        "frontends": (
            Row(
                "mandarin",
                f"{_CHINESE}:MandarinFrontend",
                "Mandarin: initials and finals with tone",
                keys=("zh", "cmn"),
            ),
            Row("mandarin-pinyin", f"{_CHINESE}:mandarin_pinyin", "Mandarin: pinyin with tone"),
            Row("mandarin-ipa", f"{_CHINESE}:mandarin_ipa", "Mandarin: IPA with arrows for tones"),
            Row("japanese", f"{_JAPANESE}:JapaneseFrontend", "Japanese: phones by Open JTalk", keys=("ja",)),
            Row("japanese-prosody", f"{_JAPANESE}:japanese_prosody", "Japanese: phones and prosody marks as in ESPnet"),
            Row(
                "korean",
                "tts_prep.languages.korean:KoreanFrontend",
                "Korean: jamo as they are pronounced",
                keys=("ko",),
            ),
        ),
    },
    libraries={"ko_speech_tools": "ko", "mecab_ko": "ko", "pyopenjtalk": "ja", "pypinyin": "zh", "rjieba": "zh"},
)
