"""Latin words in Mandarin texts, spoken as a Mandarin speaker would: letters, or English in syllables of pinyin."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from tts_prep.languages.latin import english, parts
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.toml_files import word_table, word_tables

_TABLES: Final = word_tables(__package__)
# How Mandarin speakers name letters, in syllables that the tables have.
_LETTERS: Final = _TABLES["latin_letters"]
_SOUND: Final = re.compile("[ˈˌ]|tʃ|dʒ|aɪ|aʊ|eɪ|oʊ|ɔɪ|n\u0329|.")
_INITIAL: Final = word_table(
    "p=p b=b t=t d=d k=k ɡ=g m=m n=n f=f v=w θ=s ð=z s=s z=z ʃ=sh ʒ=r h=h l=l ɹ=r j=y w=w tʃ=ch dʒ=zh ɾ=t ʔ=t x=h"
)
# Before i: ki is no syllable of Mandarin, but qi is.
_BEFORE_I: Final = word_table("k=q g=j h=x s=x z=j sh=x zh=j ch=q r=l")
_VOWEL: Final = word_table(
    "aɪ=ai aʊ=ao eɪ=ei oʊ=ou ɔɪ=o+i ɑ=a æ=a ʌ=a ɐ=a a=a ɔ=o ʊ=u u=u i=i ɪ=i ᵻ=i ɛ=ɛ ə=e ɚ=e ɜ=e n\u0329=en"
)
# Finals by likeness, of which the first is taken that is a syllable with its initial.
_FINALS: Final = _TABLES["latin_finals"]
_WITHOUT_INITIAL: Final = word_table("i=yi in=yin ing=ying u=wu un=wen ong=weng uo=wo e=e")
# Consonants without a vowel.
_ALONE: Final = word_table(
    "p=pu b=bu t=te d=de k=ke g=ge m=mu n=en f=fu w=fu s=si z=zi sh=shi r=zhi h=he l=er y=yi ch=qi zh=zhi"
)


def spoken_latin(word: str) -> list[str]:
    """Return the syllables of a word in Latin letters, in pinyin with tones.

    Up to five capitals, single letters and parts without a vowel are named by letter: GPT, iPhone's i, html. Other
    parts are English by espeak-ng, each sound in the nearest syllable: the fourth tone for those with stress, the first
    for others, and the neutral one for consonants without a vowel.
    """
    syllables: list[str] = []
    for part, is_named in parts(word):
        if is_named:
            syllables += (name for letter in part.upper() for name in _LETTERS.get(letter, "").split())
        else:
            syllables += _english(part.lower())
    return syllables


def is_initials(word: str) -> bool:
    """Return whether a word is up to five capitals, whose names are no English: GPT."""
    return re.fullmatch("[A-Z]{1,5}", word) is not None


@cache
def _known() -> frozenset[str]:
    """Return the syllables that a table of pinyin has in all tones."""
    symbols = frozenset(get_table("mandarin-pinyin").symbols)
    return frozenset(s[:-1] for s in symbols if all(s[:-1] + tone in symbols for tone in "145"))


@lru_cache(maxsize=4096)
def _english(word: str) -> tuple[str, ...]:
    return tuple(_syllables(english().phoneticize(word)))


def _syllables(phones: str) -> Iterator[str]:
    sounds: list[tuple[str, bool]] = []
    stressed = False
    for sound in _SOUND.findall(phones):
        if sound in "ˈˌ":
            stressed = True
        elif sound in _VOWEL or sound in _INITIAL or sound == "ŋ":
            sounds.append((sound, stressed))
            stressed = stressed and sound not in _VOWEL
    initial, i = "", 0
    while i < len(sounds):
        sound, stressed = sounds[i]
        following = [other for other, _ in sounds[i + 1 : i + 3]]
        i += 1
        if sound in _VOWEL:
            vowel, _, glide = _VOWEL[sound].partition(" ")
            coda = ""
            # Only n and ng end a syllable of Mandarin, after one vowel.
            if len(vowel) == 1 and not glide and following[:1] in (["n"], ["ŋ"]):
                coda = "ng" if following[0] == "ŋ" else "" if _VOWEL.keys() & following[1:] else "n"
                i += coda != ""
            yield _syllable(initial, vowel + coda) + ("4" if stressed else "1")
            if glide:
                yield "yi5"
            initial = ""
        elif sound == "ŋ":
            yield "en5"
        elif following[:1] and following[0] in _VOWEL:
            initial = _INITIAL[sound]
        elif sound != "ɹ":
            yield _ALONE[_INITIAL[sound]] + "5"


def _syllable(initial: str, final: str) -> str:
    finals = _FINALS[final].split()
    if not initial:
        return next(s for f in finals if (s := _WITHOUT_INITIAL.get(f, f)) in _known())
    both = [_BEFORE_I.get(initial, initial), initial] if final[0] == "i" else [initial]
    found = (start + f for f in finals for start in both if start + f in _known())
    return next(found, None) or _ALONE[initial]
