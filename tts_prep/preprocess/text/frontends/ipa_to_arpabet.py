"""Conversion of espeak-ng's IPA for American English to ARPAbet."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.errors import TextError
from tts_prep.preprocess.text.tables import word_table

# V is the place of the stress digit.
_VOWELS: Final = word_table(
    """
    aɪɚ=AYV+ER0 aɪə=AYV+AH0 aʊɚ=AWV+ER0 ɔːɹ=AOV+R oːɹ=AOV+R ɑːɹ=AAV+R aɪ=AYV aʊ=AWV eɪ=EYV oʊ=OWV əʊ=OWV ɔɪ=OYV
    iə=IYV+AH0 ɑ̃=AAV+N ɔ̃=AOV+N ɛ̃=AEV+N æ̃=AEV+N ɑ=AAV ɒ=AAV a=AAV æ=AEV ʌ=AHV ə=AHV ɐ=AHV ɔ=AOV o=OWV ɛ=EHV
    e=EYV ɜ=ERV ɝ=ERV ɚ=ERV ɪ=IHV ᵻ=IHV i=IYV ʊ=UHV u=UWV y=UWV ø=ERV œ=ERV ɨ=IHV
    """
)
_CONSONANTS: Final = word_table(
    """
    tʃ=CH dʒ=JH n̩=AH0+N m̩=AH0+M l̩=AH0+L ts=T+S b=B d=D ð=DH f=F ɡ=G g=G h=HH k=K l=L ɬ=L ɫ=L m=M n=N ŋ=NG
    ɲ=N+Y p=P ɹ=R r=R ʁ=R ɾ=T s=S ʃ=SH ç=SH t=T ʔ=T θ=TH v=V w=W ʍ=HH+W x=K ɣ=G j=Y z=Z ʒ=ZH ʎ=L+Y ɕ=SH ʑ=ZH β=V
    ɸ=F q=K
    """
)
_SOUNDS: Final = {**_VOWELS, **_CONSONANTS}
_SOUND: Final = re.compile("|".join(sorted(map(re.escape, _SOUNDS), key=len, reverse=True)))
_SILENT: Final = frozenset("ːˑ̩̃̈ʲʰ-' .")
_STRESS: Final = {"ˈ": "1", "ˌ": "2"}


def ipa_to_arpabet(ipa: str) -> list[str]:
    """Return the ARPAbet phones of IPA phonemes, vowels with stress: 1 primary, 2 secondary, 0 none.

    Length marks are dropped; flaps and glottal stops become T, of which they are allophones.

    Raises:
        TextError: a phoneme has no counterpart in English.
    """
    phones: list[str] = []
    stress = "0"
    position = 0
    while position < len(ipa):
        character = ipa[position]
        match = _SOUND.match(ipa, position)
        if match:
            sound = _SOUNDS[match[0]]
            phones += sound.replace("V", stress).split() if match[0] in _VOWELS else sound.split()
            if match[0] in _VOWELS:
                stress = "0"
            position = match.end()
            continue
        if character in _STRESS:
            stress = _STRESS[character]
        elif character not in _SILENT:
            raise TextError(f"no ARPAbet for {character!r} in the pronunciation {ipa!r}")
        position += 1
    # espeak-ng writes one sound twice where it ends one syllable and begins the next.
    return [phone for i, phone in enumerate(phones) if i == 0 or phone != phones[i - 1] or phone[-1].isdigit()]
