"""The symbol tables that frontends use unless they are given another: StyleTTS2's IPA, ARPAbet, English letters."""

from __future__ import annotations

from typing import Final

PAD: Final = "$"
PUNCTUATION: Final = ';:,.!?¡¿—…"«»“” '
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# The apostrophe stands twice: the later of its two ids is the one in use.
IPA_LETTERS: Final = (
    "ɑɐɒæɓʙβɔɕçɗɖðʤəɘɚɛɜɝɞɟʄɡɠɢʛɦɧħɥʜɨɪʝɭɬɫɮʟɱɯɰŋɳɲɴøɵɸθœɶʘɹɺɾɻʀʁɽʂʃʈʧʉʊʋⱱʌɣɤʍχʎʏʑʐʒʔʡʕʢǀǁǂǃˈˌːˑʼʴʰʱʲʷˠˤ˞↓↑→↗↘'̩'ᵻ"
)
SYMBOLS: Final = (PAD, *PUNCTUATION, *LETTERS, *IPA_LETTERS)
"""The symbol table of StyleTTS2 and its relatives: padding, punctuation, letters, IPA."""

ARPABET_VOWELS: Final = (*("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY"), "OW", "OY", "UH", "UW")
ARPABET_CONSONANTS: Final = (
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N"),
    *("NG", "P", "R", "S", "SH", "T", "TH", "V", "W", "Y", "Z", "ZH"),
)
ARPABET_PUNCTUATION: Final = (" ", "-", "…", ",", ".", "?", "!")
# Parakeet's table has one vowel without stress too, the bare UW.
ARPABET: Final = (
    *sorted((*(f"{vowel}{stress}" for vowel in ARPABET_VOWELS for stress in "012"), *ARPABET_CONSONANTS, "UW")),
    *ARPABET_PUNCTUATION,
)
"""Parakeet's table for English without its four specials: 69 phones with stress, the bare UW, punctuation."""

ENGLISH_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz '-,.?!"
"""What Parakeet's EnglishCharacter keeps of a text."""
