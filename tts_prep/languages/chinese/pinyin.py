"""Pinyin of Mandarin: readings that depend on words, tone sandhi, and conversion to initials and finals, and to IPA.

The notation of initials and finals is that of AISHELL-3 and FastSpeech2: ``zhong1`` is ``zh ong1``; the vowels of zi
and zhi are ``ii`` and ``iii``, ü is ``v``; ``y`` and ``w`` are initials; ``rr`` follows a syllable with erhua. The
readings of characters are those of 现代汉语词典, 7th edition.
"""

from __future__ import annotations

import importlib.resources
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tts_prep.errors import TextError
from tts_prep.toml_files import word_table, word_tables

NEUTRAL: Final = frozenset(importlib.resources.files(__package__).joinpath("neutral.txt").read_text("utf-8").split())
"""Words whose last syllable has the neutral tone.

They are the words of the list of the Putonghua Proficiency Test that must be read so (普通话水平测试用必读轻声词语表,
in 普通话水平测试实施纲要, 2004), without those that are other words in their full tones, such as 地道 and 实在.
"""

_TABLES: Final = word_tables(__package__)
_SURNAMES: Final = _TABLES["pinyin_surnames"]
_RULES: Final = tuple((re.compile(pattern), pinyin) for pattern, pinyin in _TABLES["pinyin_rules"].items())
_ANY: Final = re.compile("[长空数尽姓]")
_SURNAME: Final = re.compile(f"姓([{''.join(_SURNAMES)}])")
_PERSON: Final = re.compile("[我你他她它们您咱人]$")


def readings(characters: str) -> dict[int, str]:
    """Return position → pinyin for the characters of a text without marks that have another reading here."""
    if not _ANY.search(characters):
        return {}
    found = {match.start(1): _SURNAMES[match[1]] for match in _SURNAME.finditer(characters)}
    for rule, pinyin in _RULES:
        found.update({match.start(1): pinyin for match in rule.finditer(characters)})
    return found


def single_de(before: str, following: str) -> str:
    """Return the reading of 得 as a word of its own: 他得了奖 has, 你得走 must, 走得快 is a particle."""
    if _PERSON.search(before):
        return "de2" if following[:1] in ("了", "到", "过") else "dei3"
    return "de5"


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


ERHUA: Final = "rr"

_SYLLABLE: Final = re.compile(r"(zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw]?)([aeiouv]+(?:ng?)?|er|r|m|n|ng|hm|hng)(r?)([1-5])")
_SHORT: Final = word_table("iu=iou ui=uei un=uen ue=ve")
_AFTER_Y: Final = word_table("a=ia an=ian ang=iang ao=iao e=ie ong=iong ou=iou o=iou ai=ia")
_AFTER_W: Final = word_table("a=ua ai=uai an=uan ang=uang ei=uei en=uen eng=uen o=uo")


def is_pinyin(syllable: str) -> bool:
    """Return whether a text is a pinyin syllable with a tone digit, such as ``zhong1``, ``dianr3`` or ``lü4``."""
    try:
        initial_and_final(syllable)
    except TextError:
        return False
    return True


def initial_and_final(syllable: str) -> list[str]:
    """Return the phones of a syllable: its initial, if any; its final with the tone; ``rr`` for erhua.

    Raises:
        TextError: it is not a pinyin syllable with a tone digit.
    """
    match = _SYLLABLE.fullmatch(syllable.lower().replace("ü", "v").replace("u:", "v"))
    if match is None:
        raise _unexpected(syllable)
    initial, final, retroflex, tone = match.groups()
    if not initial and final in ("er", "r", "e") and (final != "e" or retroflex):
        return [f"er{tone}"]
    if initial in ("zh", "ch", "sh", "r") and final == "i":
        final = "iii"
    elif initial in ("z", "c", "s") and final == "i":
        final = "ii"
    elif initial in ("j", "q", "x", "y") and final[0] == "u":
        final = "v" + final[1:]
    final = _SHORT.get(final, final)
    if initial == "y" and final[0] not in "iv":
        final = _AFTER_Y.get(final, final)
    elif initial == "w" and final != "u":
        final = _AFTER_W.get(final, final)
    if final not in _IPA_FINALS:
        raise _unexpected(syllable)
    return [*([initial] if initial else []), final + tone, *([ERHUA] if retroflex else [])]


def _unexpected(syllable: str) -> TextError:
    return TextError(f"expected pinyin with a tone from 1 to 5, such as 'zhong1', found {syllable[:20]!r}")


# Lee and Zee, Standard Chinese (Beijing), Journal of the International Phonetic Association 33 (2003).
_IPA_INITIALS: Final = word_table(
    """
    b=p p=pʰ m=m f=f d=t t=tʰ n=n l=l g=k k=kʰ h=x j=tɕ q=tɕʰ x=ɕ zh=ʈʂ ch=ʈʂʰ sh=ʂ r=ɻ z=ts c=tsʰ s=s
    """
)
_IPA_FINALS: Final = _TABLES["pinyin_ipa_finals"]
_TONES: Final = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}


def ipa(syllable: str) -> str:
    """Return a syllable in IPA, with an arrow for its tone (→ ↗ ↓ ↘), or none for the neutral tone.

    Raises:
        TextError: it is not a pinyin syllable with a tone digit.
    """
    phones = initial_and_final(syllable)
    erhua = phones[-1] == ERHUA
    final = phones[-1 - erhua]
    initial = phones[0] if len(phones) - erhua == 2 else ""
    return _IPA_INITIALS.get(initial, "") + _IPA_FINALS[final[:-1]] + ("ɻ" if erhua else "") + _TONES[final[-1]]
