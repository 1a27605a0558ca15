"""Tone sandhi of Mandarin: 不, 一, and third tones before third tones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

_ORDINAL_OR_DIGIT: Final = frozenset("第初零〇一二三四五六七八九十点幺")
_DIGITS_AND_DATES: Final = frozenset("零〇一二三四五六七八九十幺月号日")


@dataclass(frozen=True)
class Syllable:
    """A character with its pronunciation.

    Attributes:
        character: the character; empty for pinyin in the text, whose tone does not change.
        pinyin: the pinyin with a tone digit.
        word: the number of the word.
    """

    character: str
    pinyin: str
    word: int

    @property
    def tone(self) -> str:
        """The tone, 1 to 5."""
        return self.pinyin[-1]

    def with_tone(self, tone: str) -> Syllable:
        """Return the syllable in another tone."""
        return replace(self, pinyin=self.pinyin[:-1] + tone)


def spoken_tones(syllables: Sequence[Syllable]) -> list[Syllable]:
    """Apply tone sandhi to the syllables of one phrase, which has no pauses.

    不 is bú before a fourth tone, and neutral between two of one verb. 一 is yí before a fourth tone and yì before
    others, but yī as an ordinal, as a digit and at the end. A third tone before a third tone is a second one: first
    inside of words, then in a word of one syllable before another word. (Chao, A Grammar of Spoken Chinese, 1968,
    sections 1.3.4 and 1.3.6.) A last word of one syllable is in one foot with the word before it, so that the last
    syllable of that word changes too: 管理组. (Shih, The Prosodic Domain of Tone Sandhi in Chinese, 1986: a syllable
    that is left joins the foot beside it.)
    """
    result = list(syllables)
    for i, syllable in enumerate(result):
        before = result[i - 1] if i else None
        after = result[i + 1] if i + 1 < len(result) else None
        if syllable.character == "不":
            result[i] = syllable.with_tone(_tone_of_bu(before, after))
        elif syllable.character == "一":
            result[i] = syllable.with_tone(_tone_of_yi(syllable, before, after))
    return _third_tones(result)


def _tone_of_bu(before: Syllable | None, after: Syllable | None) -> str:
    if before and after and before.character == after.character:
        return "5"
    return "2" if after and after.tone == "4" else "4"


def _tone_of_yi(syllable: Syllable, before: Syllable | None, after: Syllable | None) -> str:
    if after is None or (before and before.character in _ORDINAL_OR_DIGIT) or after.character in _DIGITS_AND_DATES:
        return "1"
    if before and before.character == after.character:
        return "5"
    # The last syllable of a word, as in 统一, and before a particle, as in 一的.
    if (before and before.word == syllable.word != after.word) or (after.tone == "5" and after.character != "个"):
        return "1"
    return "2" if after.tone == "4" or after.character == "个" else "4"


def _third_tones(syllables: list[Syllable]) -> list[Syllable]:
    result = list(syllables)
    for i in range(len(result) - 1):
        if not result[i].character:
            continue
        if result[i].word == result[i + 1].word and syllables[i].tone == syllables[i + 1].tone == "3":
            result[i] = result[i].with_tone("2")
    words = Counter(syllable.word for syllable in syllables)
    for i in range(len(result) - 1):
        alone = result[i].character and words[result[i].word] == 1 and result[i].word != result[i + 1].word
        if alone and result[i].tone == result[i + 1].tone == "3":
            result[i] = result[i].with_tone("2")
    return _with_last_syllable(result, words)


def _with_last_syllable(syllables: list[Syllable], words: Counter[int]) -> list[Syllable]:
    """Apply third-tone sandhi between a word of two syllables, which is a foot, and a single one that is left."""
    before, last = [None, None, *syllables][-2:]
    if before is None or last is None or (words[before.word], words[last.word]) != (2, 1):
        return syllables
    if not (before.character and last.character and before.tone == last.tone == "3"):
        return syllables
    return [*syllables[:-2], before.with_tone("2"), last]
