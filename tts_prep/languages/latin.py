"""Words in Latin letters inside texts of another script: what is named by letter, and English by its sounds."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend
from tts_prep.toml_files import word_table, word_tables

# ChatGPT, iPhone, McDonald.
_PART: Final = re.compile("[A-Z]+(?![a-z])|(?:Mc)?[A-Z]?[^A-Z]+|[A-Z]")
# Longer ones in capitals are words.
_INITIALS: Final = re.compile("[A-Z]{1,5}|[A-Za-z]|[^AEIOUYaeiouyÀ-ɏ]+")
LATIN_WORD: Final = re.compile("[A-Za-z]+(?:'[a-z]+)?")
_ACCENTED: Final = re.compile("[À-ÖØ-öø-ɏ]|(?<=[A-Za-z])’(?=[A-Za-z])")
_LIGATURES: Final = word_table(
    "’=' ß=ss æ=ae Æ=Ae ø=o Ø=O œ=oe Œ=Oe ł=l Ł=L đ=d Đ=D þ=th Þ=Th ð=d Ð=D ı=i ħ=h Ħ=H ŋ=n Ŋ=N ŧ=t Ŧ=T"
)


def parts(word: str) -> list[tuple[str, bool]]:
    """Return the parts of a word, which begin with capitals inside of it, and whether each is named by letter.

    Up to five capitals, single letters and parts without a vowel are named by letter: GPT, iPhone's i, html.
    """
    found = _PART.findall(word.replace("’", "'"))
    return [(part, _INITIALS.fullmatch(part) is not None) for part in found]


def without_accents(text: str) -> str:
    """Return a text with ``é`` as ``e``, ``ß`` as ``ss``, ``þ`` as ``th``, and straight apostrophes in words."""
    if text.isascii():
        return text
    return _ACCENTED.sub(lambda match: _LIGATURES.get(match[0]) or unicodedata.normalize("NFD", match[0])[0], text)


@cache
def english() -> EspeakFrontend:
    """Return the reader of English."""
    return EspeakFrontend("en-us")


_TABLES: Final = word_tables(__package__)
_VOWELS: Final = _TABLES["kana_vowels"]
_ROWS: Final = {consonant: kana.split() for consonant, kana in _TABLES["kana"].items()}
_SOUND: Final = re.compile("|".join(sorted(_VOWELS, key=len, reverse=True)) + "|tʃ|dʒ|.")
_STOPS: Final = frozenset(("p", "t", "k", "d", "ɡ", "tʃ", "dʒ", "ʃ"))
_SHORT: Final = frozenset("æʌɪɛʊ") | {"ɑː"}


@lru_cache(maxsize=4096)
def kana(word: str) -> str:
    """Return the sounds of an English word in the nearest kana, as loanwords have them: ``push`` is プッシュ."""
    phones = english().phoneticize(word.lower()).translate(dict.fromkeys(map(ord, "ˈˌ")))
    sounds = [sound for sound in _SOUND.findall(phones) if sound in _VOWELS or sound in _ROWS]
    said = consonant = glide = before = ""
    for number, sound in enumerate(sounds):
        following = sounds[number + 1 : number + 2]
        if sound == "ə" and consonant and sounds[number + 1 :] == ["l"]:
            # "table" is テーブル.
            continue
        if sound in _VOWELS:
            column, after = int(_VOWELS[sound][0]), _VOWELS[sound][1:]
            if sound == "ə" and consonant in ("ʃ", "ʒ"):
                column = 4
            # "cute" is キュート, "power" パワー.
            is_glide = before == "aʊ" and sound == "ɚ"
            said, row = said[: -1 if is_glide else None], _ROWS["w" if is_glide else consonant]
            said += row[1][0] + "ャィュェョ"[column] if glide else row[column]
            said, consonant, glide = said + after, "", ""
        elif sound == "j" and consonant:
            glide = sound
        else:
            said += _ROWS[consonant][5] if consonant else ""
            # "kick", "push": a short vowel before a consonant that ends the word.
            said += "ッ" if sound in _STOPS and before in _SHORT and not following else ""
            consonant = "n" if sound in "mŋ" and following and following[0] in "pbkɡ" else sound
        before = sound
    return said + (_ROWS[consonant][5] if consonant else "")
