"""The symbol table of StyleTTS2 and its relatives: padding, punctuation, letters, IPA."""

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
