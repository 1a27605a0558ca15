"""What Kokoro, Piper and Coqui do to texts, and to espeak-ng's phones."""

import re
from typing import Final

from tts_prep.preprocess.text.symbols.preparation import Preparation, Steps


def _steps(*pairs: tuple[str, str], words: str = "") -> Steps:
    """Return replacements, one after another: expressions, then pairs of words OLD=NEW."""
    plain = (word.partition("=") for word in words.split())
    return tuple((re.compile(old), new) for old, new in (*pairs, *((re.escape(old), new) for old, _, new in plain)))


# EspeakFallback and EspeakG2P of misaki/espeak.py (fba1236), in their order; its "^" is the tie here.
_MISAKI_ENGLISH: Final = (
    *_steps(
        words="ʔˌn\u0329=ʔn ʔn\u0329=ʔn a͡ɪ=I a͡ʊ=W d͡ʒ=ʤ e͡ɪ=A t͡ʃ=ʧ ɔ͡ɪ=Y ə͡l=ᵊl ʲo=jo ʲə=jə e=A ʲ= ɚ=əɹ r=ɹ "
        "x=k ç=k ɐ=ə ɬ=l \u0303="
    ),
    *_steps((r"(\S)\u0329", r"ᵊ\1"), ("\u0329", "")),
)
_MISAKI_LAST: Final = _steps(words="o=ɔ ɾ=T ʔ=t «=( »=)")
# It writes brackets as these while espeak-ng reads.
_MISAKI_BRACKETS: Final = _steps(words="«=“ »=” (=« )=»")

KOKORO: Final = Preparation(
    about="misaki's replacements of espeak-ng's phones (`EspeakFallback`, and `EspeakG2P` for other languages than "
    "English, Japanese and Chinese); round brackets are kept",
    ours="misaki reads English by its dictionary and a tagger, and word by word what is not in it; here espeak-ng "
    "reads all words, in their sentences, and straight quotes stay straight",
    text=_MISAKI_BRACKETS,
    phones={
        "en": (*_MISAKI_ENGLISH, *_steps(words="o͡ʊ=O ɜːɹ=ɜɹ ɜː=ɜɹ ɪə=iə ː="), *_MISAKI_LAST),
        # Its e͡ə=ɛː is found in no text, because the e is A by then.
        "en-gb": (*_MISAKI_ENGLISH, *_steps(words="iə=ɪə ə͡ʊ=Q"), *_MISAKI_LAST),
        "ja": (),
        "cmn": (),
        "": _steps(words="a͡ɪ=I a͡ʊ=W d͡z=ʣ d͡ʒ=ʤ e͡ɪ=A o͡ʊ=O s͡s=S t͡s=ʦ t͡ʃ=ʧ ɔ͡ɪ=Y ə͡ʊ=Q -= «=( »=)"),
    },
    tied=True,
)
PIPER: Final = Preparation(
    about="of marks, `. , : ; ! ?` are left, as espeak-ng's ends of clauses; a dash between spaces is `;`",
    ours="Piper's build of espeak-ng is a later one, which writes ʲ between vowels; it reads clause by clause, and "
    "names no mark in an abbreviation",
    text=_steps(('["«»“”¡¿]', "")),
    phones={"": _steps((r"(?<=[.,:;!?]) — | — (?=[.,:;!?]|$)", " "), (" — ", "; "), (" *[—…] *", " "))},
)
COQUI: Final = Preparation(
    about='`; :` become commas, a hyphen a space, and `< > ( ) [ ] "` are removed (`replace_symbols` and '
    "`remove_aux_symbols` of all its cleaners for phonemes)",
    ours="numbers and abbreviations; cleaners that lower the case are not followed",
    text=_steps(("[;:]", ","), ("-", " "), (r'[<>()\[\]"]+', ""), (r"\s+", " ")),
)
