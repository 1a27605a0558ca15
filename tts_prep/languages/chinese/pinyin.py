"""Conversion of pinyin syllables with tone digits to initials and finals, and to IPA.

The notation of initials and finals is that of AISHELL-3 and FastSpeech2: ``zhong1`` is ``zh ong1``; the vowels of zi
and zhi are ``ii`` and ``iii``, ü is ``v``; ``y`` and ``w`` are initials; ``rr`` follows a syllable with erhua.
"""

from __future__ import annotations

import re
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.text.tables import word_table

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
_IPA_FINALS: Final = word_table(
    """
    a=a ai=aɪ an=an ang=ɑŋ ao=aʊ e=ɤ ei=eɪ en=ən eng=əŋ er=aɚ i=i ia=ja ian=jɛn iang=jɑŋ iao=jaʊ ie=jɛ ii=ɹ̩ iii=ɻ̩ in=in
    ing=iŋ iong=jʊŋ iou=joʊ o=o ong=ʊŋ ou=oʊ u=u ua=wa uai=waɪ uan=wan uang=wɑŋ uei=weɪ uen=wən uo=wo v=y van=ɥɛn
    ve=ɥɛ vn=yn m=m n=n ng=ŋ hm=hm hng=hŋ io=jɔ
    """
)
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
