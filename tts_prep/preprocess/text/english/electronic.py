"""E-mail addresses, URLs and IP addresses, as dictated."""

from __future__ import annotations

import re
from typing import Final

from tts_prep.preprocess.text.english.number_words import digits

_SIGNS: Final = {
    ".": "dot",
    "/": "slash",
    "-": "dash",
    "_": "underscore",
    "@": "at",
    ":": "colon",
    "&": "ampersand",
    "+": "plus",
    "=": "equals",
    "?": "question mark",
    "#": "hash",
    "%": "percent",
    "~": "tilde",
}
# Top-level domains and protocols that are spelled letter by letter.
_SPELLED: Final = frozenset(("http", "https", "www", "ftp", "html", "php", "uk", "de", "fr", "it", "us", "io", "tv"))
_DOMAIN: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PATH: Final = r"(?:/[\w./?%&=+#~-]*[\w/])?"
# Only from the start of a run of such characters, and names of limited length: in a long text without spaces, a search
# from every character to the end of the text would take minutes.
_EMAIL: Final = rf"(?<![\w.&+-])[\w.&+-]*\w@{_DOMAIN}(?:\.{_DOMAIN})*\.[A-Za-z]{{2,}}{_PATH}"
_URL: Final = rf"(?:https?|ftp|file)://[\w./?%&=+#~:-]*[\w/]|www\.{_DOMAIN}(?:\.{_DOMAIN})+{_PATH}"
_COMMON: Final = "com|org|net|edu|gov|info|io|ai|co|uk|de|fr|us|ca|au|eu"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SITE: Final = rf"(?<![\w@.]){_LABEL}(?:\.[a-z0-9-]{{1,63}}){{0,8}}\.(?:{_COMMON})\b(?!\.[A-Za-z]){_PATH}"
_IP: Final = r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.]*\d)"
_ADDRESS: Final = re.compile(rf"{_EMAIL}|{_URL}|{_SITE}|{_IP}")
_PIECE: Final = re.compile(r"\d+|[^\W\d_]+|.")


def electronic(text: str) -> str:
    """Return a text with addresses in words: ``ab1@x.com`` as ``ab one at x dot com``."""
    return _ADDRESS.sub(lambda match: " ".join(map(_spoken, _PIECE.findall(match[0]))), text) if "." in text else text


def _spoken(piece: str) -> str:
    if piece.isdigit():
        return digits(piece)
    return " ".join(piece.upper()) if piece.lower() in _SPELLED else _SIGNS.get(piece, piece)
