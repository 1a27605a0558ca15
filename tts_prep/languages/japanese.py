"""Japanese by Open JTalk: phones, or phones with marks of accent and phrase.

pyopenjtalk-plus (MIT, its dictionary comes with it) is an optional dependency and is imported here and nowhere else.
"""

import importlib.metadata
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.latin import english, kana, parts, without_accents
from tts_prep.preprocess.text.frontends import frontend as frontends
from tts_prep.preprocess.text.language_codes import subtags
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.typography import without_controls
from tts_prep.preprocess.text.vocab import Vocab

STYLES: Final = ("phones", "prosody")

_MARKS: Final = {
    **dict.fromkeys("、，,､", ","),
    **dict.fromkeys("。．.｡", "."),
    **dict.fromkeys("？?", "?"),
    **dict.fromkeys("！!", "!"),
    **dict.fromkeys("…⋯‥", "…"),
}
# A dot between digits is part of a number.
_MARK: Final = re.compile(r"(?<=\d)([,.:])(?=\d)|([、，､。．｡？！…⋯‥,.?!]+)")
_ELLIPSIS: Final = re.compile("([…‥])")
_CURRENCIES: Final = {"¥": "円", "$": "ドル", "€": "ユーロ", "£": "ポンド"}
_AMOUNT: Final = re.compile(r"([¥$€£])(\d[\d,.]*[万億兆]*)")
_TIME: Final = re.compile(r"(?<!\d)([01]?\d|2[0-4]):([0-5]\d)(?!\d)")
_TIME_RANGE: Final = re.compile(r"(?<=\d:[0-5]\d) ?[-−–—] ?(?=\d{1,2}:[0-5]\d)")
_DIFFERENCE: Final = re.compile(r"(?<=\d) ?[-−] ?(?=\d+(?:\.\d+)? ?[=＝])")
_MINUS: Final = re.compile(r"(?<![\w)])[-−](?=\d)|(?<=[ぁ-ヿ一-鿿])[-−](?=\d)")
_SILENT: Final = r"\s「」『』（）()【】〔〕\[\]{}《》〈〉“”\"'・･:：;；―—–\-~〜～♪＝=*#_/|"
# Characters that Open JTalk reads: kana, Chinese characters, letters, digits and some signs.
_READABLE: Final = re.compile(
    "[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003134fA-Za-z0-9Α-Ωα-ω%&+¥$€£@°²³×÷<>]"
)
_UNREADABLE: Final = re.compile(f"[^{_SILENT}]")
# The fields of a full-context label that are used here.
_LABEL: Final = re.compile(
    r"-(?P<phone>.*?)\+.*/A:(?P<a1>[-\d]+|xx)\+(?P<a2>\d+|xx)\+(?P<a3>\d+|xx)/"
    r".*!(?P<e3>\d+|xx)_.*/F:(?P<f1>\d+|xx)_"
)

MAX_CHARACTERS = 500
"""The maximum length of a text. Open JTalk takes quadratic time: 0.7 s for 500 letters, 14 s for 2,000."""


class JapaneseFrontend(frontends.VocabFrontend):
    """Japanese in Open JTalk's phones. Numbers are read by Open JTalk.

    Phonemes as text are phones separated by spaces, ``k o N n i ch i w a``. ``U`` and ``I`` are unvoiced vowels, ``N``
    is the moraic nasal, ``cl`` the double consonant. In the style ``phones``, ``, . ? ! …`` are symbols. In the style
    ``prosody``, as in ESPnet's ``pyopenjtalk_prosody``, a text is enclosed by ``^`` and ``$`` or ``?``, ``[`` and ``]``
    are rises and falls of pitch, ``#`` ends an accent phrase, ``_`` is a pause; vowels are never unvoiced.

    Args:
        language: a code of Japanese.
        style: one of `STYLES`.
        options: see `frontend.VocabFrontend`. Punctuation is ignored: marks are separate symbols.

    Raises:
        ConfigurationError: the language is not Japanese, or an option is invalid.
        MissingPackageError: a package is not installed.
    """

    def __init__(self, language: str = "ja", *, style: str = "phones", **options: Any) -> None:
        frontends.check_choice("style", style, STYLES)
        if not is_japanese(language):
            raise ConfigurationError(
                f"language: the frontend 'japanese' supports Japanese only, found {language!r}; use --language ja"
            )
        table = {"phones": "japanese", "prosody": "japanese-prosody"}[style]
        super().__init__(Vocab.from_table(get_table(table)), **options)
        self.spaced = True
        self._style = style
        self._open_jtalk = _import_open_jtalk()

    def normalize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Rewrite times, amounts of money and negative numbers so that Open JTalk reads them correctly."""
        text = _composed(without_controls(text)).replace("°C", "度")
        text = _AMOUNT.sub(lambda match: match[2] + _CURRENCIES[match[1]], text)
        text = _TIME.sub(r"\1時\2分", _TIME_RANGE.sub("から", text)).replace("時00分", "時")
        return _MINUS.sub("マイナス", _DIFFERENCE.sub("引く", text))

    def phoneticize(self, text: str, language: str | None = None) -> str:
        """Return the phones as text.

        Raises:
            TextError: there is nothing to speak, or the text is not Japanese.
        """
        if language is not None and not is_japanese(language):
            raise TextError(f"the frontend 'japanese' supports Japanese only, the text is in {language!r}")
        text = _composed(text)
        if len(text) > MAX_CHARACTERS:
            raise TextError(f"{len(text):,} characters, the frontend 'japanese' supports at most {MAX_CHARACTERS:,}")
        if not _READABLE.search(text):
            raise TextError(f"nothing to speak in {text[:60]!r}" if text.strip() else "the text is empty")
        strange = [c for c in text if _UNREADABLE.match(c) and not _READABLE.match(c) and c not in _MARKS]
        if strange:
            raise TextError(f"the frontend 'japanese' cannot read {strange[0]!r} in {text[:60]!r}")
        text = _LATIN.sub(lambda match: "".join(said for said, _ in _latin(match[0])), text)
        symbols = list(self._prosody(text) if self._style == "prosody" else self._phones(text))
        if not any(symbol.isalpha() for symbol in symbols):
            raise TextError(f"nothing to speak in {text[:60]!r}")
        return frontends.join_symbols(symbols)

    def _phones(self, text: str) -> Iterator[str]:
        position = 0
        for match in [*_MARK.finditer(text), None]:
            if match is not None and match[1]:
                continue
            piece = text[position : match.start() if match else None]
            if _READABLE.search(piece):
                yield from (label["phone"] for label in self._labels(piece) if label["phone"] not in ("sil", "pau"))
            if match is not None:
                # Several marks are one pause, represented by the last one.
                yield _MARKS[match[2][-1]]
                position = match.end()

    def _prosody(self, text: str) -> Iterator[str]:
        """Yield phones and marks, as in Kurihara, Seiyama, Kumano: https://doi.org/10.1587/transinf.2020EDP7104."""
        labels = self._labels(text)
        for number, label in enumerate(labels):
            phone = label["phone"]
            if phone == "sil":
                yield "^" if number == 0 else "?" if label["e3"] == "1" else "$"
                continue
            if phone == "pau":
                yield "_"
                continue
            yield phone.lower() if phone in "AEIOU" else phone
            # Positions of the mora in a phrase of f1 morae: a1 from the accent, a2 from the start, a3 from the end.
            a1, a2, a3, f1 = (int(label[name]) for name in ("a1", "a2", "a3", "f1"))
            following = labels[number + 1]["a2"]
            if a3 == 1 and following == "1" and phone in "aeiouAEIOUNcl":
                yield "#"
            elif a1 == 0 and following == str(a2 + 1) and a2 != f1:
                yield "]"
            elif a2 == 1 and following == "2":
                yield "["

    def _labels(self, text: str) -> list[re.Match[str]]:
        matches = (_LABEL.search(label) for label in self._open_jtalk.extract_fullcontext(text))
        return [match for match in matches if match is not None]

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield unknown symbols, words read as English, hyphens, which are silent, and texts that are not Japanese."""
        yield from super().remarks(text, phonemes, language)
        for match in _LATIN.finditer(_composed(text)):
            yield from [(frontends.OTHER_LANGUAGE, f"en: {word}") for _, word in _latin(match[0]) if word]
        yield from frontends.remarks_of_script(text, "ja")

    def software(self) -> dict[str, str]:
        """Return the versions of Open JTalk's package, of its dependencies, and of espeak-ng for English words."""
        packages = ("pyopenjtalk-plus", "onnxruntime", "SudachiPy", "SudachiDict-core")
        return {**{name: importlib.metadata.version(name) for name in packages}, **english().software()}


_LATIN: Final = re.compile("[A-Za-z]+(?:[-'][A-Za-z]+)*")


@lru_cache(maxsize=4096)
def _latin(word: str) -> list[tuple[str, str]]:
    """Return the parts of a word in Latin letters, each as Open JTalk is to read it, and those read as English.

    What its dictionary has as a whole stays, as do letters to be named; it would name the letters of all others too.
    """
    if _in_dictionary(word):
        return [(word, "")]
    found = [part for piece in word.split("-") for part in parts(piece)]
    return [(part, "") if named else _in_dictionary(part) or (kana(part), part) for part, named in found]


def _in_dictionary(word: str) -> tuple[str, str] | None:
    nodes = _import_open_jtalk().run_frontend(word)
    return (nodes[0]["pron"].replace("’", ""), "") if len(nodes) == 1 and nodes[0]["pos"] != "フィラー" else None


japanese_prosody = partial(JapaneseFrontend, style="prosody")


def _composed(text: str) -> str:
    """Return the text in NFKC without accents, but with its ellipses, of which NFKC makes full stops."""
    found = (unicodedata.normalize("NFKC", part) if part not in "…‥" else part for part in _ELLIPSIS.split(text))
    return without_accents("".join(found))


def is_japanese(language: str) -> bool:
    """Return whether a language code is that of Japanese."""
    return subtags(language)[0] == "ja"


def _import_open_jtalk() -> Any:
    try:
        # Without onnxruntime, pyopenjtalk prints a warning and always reads 何 as nani.
        import onnxruntime  # noqa: F401
        import pyopenjtalk
    except ImportError as error:
        raise MissingPackageError(
            f"the frontend 'japanese' needs the package {error.name}; install it with: pip install 'tts-prep[ja]'"
        ) from None
    return pyopenjtalk
