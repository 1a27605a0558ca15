"""What systems do to a text before espeak-ng reads it, and to its phones before their ids are looked up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

_Steps: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]

TIE: Final = "\u0361"
"""What espeak-ng writes between the letters of one sound, if it is asked to."""


def _steps(*pairs: tuple[str, str], words: str = "") -> _Steps:
    """Return replacements, one after another: expressions, then pairs of words OLD=NEW."""
    plain = (word.partition("=") for word in words.split())
    return tuple((re.compile(old), new) for old, new in (*pairs, *((re.escape(old), new) for old, _, new in plain)))


def _replaced(text: str, steps: _Steps) -> str:
    for old, new in steps:
        text = old.sub(new, text)
    return text


@dataclass(frozen=True, eq=False)
class Preparation:
    """Replacements of a system.

    Attributes:
        about: what is replaced, for the page of tables.
        ours: what is not the system's, for the same page.
        text: replacements in the text.
        phones: those in espeak-ng's phones, by language; ``""`` is every other one.
        tied: espeak-ng puts `TIE` between the letters of one sound, which is removed after the replacements.
    """

    about: str = ""
    ours: str = ""
    text: _Steps = ()
    phones: Mapping[str, _Steps] = field(default_factory=dict)
    tied: bool = False

    def prepare(self, text: str) -> str:
        """Return a text as espeak-ng reads it."""
        return _replaced(text, self.text)

    def respell(self, phones: str, language: str) -> str:
        """Return phones of espeak-ng as the system's model knows them."""
        code = language
        while code not in self.phones and code:
            code = code.rpartition("-")[0]
        steps = self.phones.get(code, ())
        return _replaced(phones, steps).replace(TIE, "")


AS_READ: Final = Preparation()
"""Nothing is replaced."""

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
PREPARATIONS: Final = {"": AS_READ, "kokoro": KOKORO, "piper": PIPER, "coqui": COQUI}
"""By the name in ``tables.toml``."""
