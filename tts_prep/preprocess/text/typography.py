"""Characters that say the same in many ways, made one: spaces, controls, quotes, dashes, marks of other scripts."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Zero-width characters, soft hyphens and direction marks: no sound, and in the way of every comparison.
_INVISIBLE: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_CONTROL: Final = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
# Punctuation of other scripts, and Latin letters, digits and marks at full width, as the marks that symbol tables have.
_COUNTERPARTS: Final = str.maketrans(
    {
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5E)},
        **dict.fromkeys("。｡।॥۔።։។៕။།᠃෴᱾׃", "."),
        **dict.fromkeys("、､،٬፣՝၊᠂߸", ","),
        **dict.fromkeys("؛፤", ";"),
        **dict.fromkeys("፥፦៖", ":"),
        **dict.fromkeys("؟\u037e፧", "?"),
        "߹": "!",
        "‼": "!!",
        "⁇": "??",
        "⁈": "?!",
        "⁉": "!?",
        "‥": "…",
        "⋯": "…",
        "᠁": "…",
        **dict.fromkeys("「『„‟❝﹁﹃", "“"),
        **dict.fromkeys("」』❞﹂﹄", "”"),
        **dict.fromkeys("《〈‹", "«"),
        **dict.fromkeys("》〉›", "»"),
        "【": "[",
        "】": "]",
        "〔": "[",
        "〕": "]",
        "٪": "%",
        "٫": ".",
        "־": "-",
        "፡": " ",
        "・": " ",
        "･": " ",
    }
)
# No space stands behind these where a script has none between words.
_WITHOUT_SPACE: Final = re.compile(r"([。｡、､])(?=\w)|([．，！？：；])(?=[^\W\d_])")
_WORD_DASH: Final = re.compile("(?<!\\d)[‒–―]|[‒–―](?!\\d)")
_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʹʻʼ`´＇", "'"),
        **dict.fromkeys("“”„‟″＂", '"'),
        **dict.fromkeys("‐‑⁃﹣－", "-"),
        **dict.fromkeys("‒–―−─", "—"),
        **dict.fromkeys("‹", "«"),
        **dict.fromkeys("›", "»"),
    }
)
_DASHES: Final = re.compile(r"-{2,}")
_DOTS: Final = re.compile(r"\.{3,}|\. \. \.")


def without_controls(text: str) -> str:
    """Return the text composed (NFC), control characters and runs of white space as one space, invisible ones removed.

    Marks of other scripts become the Latin marks of the same use (``。`` a full stop, ``؟`` a question mark), and short
    dashes that are not between digits become ``—``.

    A control character is a command to espeak-ng, so this is done to every text, normalized or not. NUL stays: it is
    a sign of a broken file, and every frontend refuses it.
    """
    if text.isascii() and text.isprintable():
        # Most English texts; nothing below changes them.
        return " ".join(text.split())
    spaced = _WITHOUT_SPACE.sub(lambda match: f"{match[0]} ", text)
    # Before composing, which makes a semicolon of the Greek question mark.
    composed = unicodedata.normalize("NFC", spaced.translate(_COUNTERPARTS))
    composed = _WORD_DASH.sub("—", composed)
    return " ".join(_CONTROL.sub(" ", _INVISIBLE.sub("", composed)).split())


def plain_marks(text: str) -> str:
    """Return the text with straight quotes, one kind of hyphen, one kind of dash (—) and one kind of ellipsis (…)."""
    return _DOTS.sub("…", _DASHES.sub("—", text.translate(_PLAIN)))


def without_accents(text: str) -> str:
    """Return the text with accents taken off its letters: ``café`` becomes ``cafe``, ``Æ`` becomes ``AE``."""
    decomposed = unicodedata.normalize("NFD", text.translate(_LIGATURES))
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))


_LIGATURES: Final = str.maketrans({"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l"})
