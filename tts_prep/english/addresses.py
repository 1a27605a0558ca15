"""Where to write, call and look: e-mail addresses, URLs, names of files, telephone numbers, postal codes."""

import re
from typing import Final

from tts_prep.english.numbers import cardinal, digits
from tts_prep.toml_files import word_tables

_TABLES: Final = word_tables(__package__)
_SIGNS: Final = _TABLES["addresses_signs"]
# Top-level domains, protocols and endings of files that are spelled letter by letter.
_SPELLED: Final = frozenset(
    (
        *("http", "https", "www", "ftp", "html", "php", "uk", "de", "fr", "it", "us", "io", "tv", "fm"),
        *("txt", "pdf", "mp", "png", "csv", "xml", "gz", "xls", "xlsx", "ppt", "pptx", "py", "js", "md"),
    )
)
_FILES: Final = (
    "txt|pdf|wav|flac|mp[34]|jpe?g|png|gif|csv|json|xml|html?|zip|tar|gz|docx?|xlsx?|pptx?|py|js|md|exe|bat|ini|log|"
    "ya?ml|toml|conf|cfg|cpp|java|css|svg|webp|ogg|opus|m4a|mov|mkv|avi|iso|dll|apk|ipynb|h5|hdf5|parquet|onnx|sh|sql"
)
_DOMAIN: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PATH: Final = r"(?:/[\w./?%&=+#~-]*[\w/])?"
# Only from the start of a run of such characters, and names of limited length: in a long text without spaces, a search
# from every character to the end of the text would take minutes.
_EMAIL: Final = rf"(?<![\w.&+-])[\w.&+-]*\w@{_DOMAIN}(?:\.{_DOMAIN})*\.[A-Za-z]{{2,}}{_PATH}"
_URL: Final = rf"(?:https?|ftp|file)://[\w./?%&=+#~:-]*[\w/]|www\.{_DOMAIN}(?:\.{_DOMAIN})+{_PATH}"
_COMMON: Final = "com|org|net|edu|gov|info|io|ai|co|uk|de|fr|us|ca|au|eu|fm|tv|ly|app|dev"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SITE: Final = rf"(?<![\w@.]){_LABEL}(?:\.[a-z0-9-]{{1,63}}){{0,8}}\.(?:{_COMMON})\b(?!\.[A-Za-z]){_PATH}"
_IP: Final = r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?(?![\d.]*\d)"
# "app-v3.2.zip", "report(2).docx"
_FILE: Final = (
    rf"(?<![\w.@/-])[A-Za-z][\w-]{{0,63}}(?:\.\d[\w-]{{0,15}}){{0,3}}(?:\(\d{{1,3}}\))?\.(?:{_FILES})\b(?!\.?\w)"
)
# "/etc/hosts", "~/.bashrc", "C:\Users"
_PLACE: Final = (
    r"(?<![\w.)/-])(?:~(?:/[\w.-]{0,63}\w){1,16}|(?:/[A-Za-z_.][\w.-]{0,63}){1,16}/[\w.-]{0,63}\w)|"
    r"\b[A-Z]:(?:\\[\w.-]{0,63}\w){1,16}"
)
_ADDRESS: Final = re.compile(rf"{_EMAIL}|{_URL}|{_SITE}|{_IP}|{_FILE}|{_PLACE}")
_INNER_DOT: Final = re.compile(r"\.\w")
_PIECE: Final = re.compile(r"\d+|[^\W\d_]+|.")

_COUNTRY: Final = r"(?:(?P<plus>\+)(?P<country>\d{1,3})[ -]?|(?P<trunk>1)-)?"
_PHONE: Final = re.compile(
    rf"(?<![\w$£€.,/-]){_COUNTRY}(?:\((?P<area>\d{{3}})\)[ -]?|(?P<area2>\d{{3}})[-. ])(?P<exchange>\d{{3}})[-. ]"
    r"(?P<line>\d{4})(?:-(?P<extension>\d{1,5}))?(?![\w-])"
)
# "+44 20 7946 0958", and numbers with a leading zero: "020 7946 0958", "0800 123 456".
_GROUPS: Final = re.compile(r"(?<![\w$£€.,/-])(?:\+[1-9]\d{0,2}|0\d{2,4})(?:[ -]\(?\d{2,5}\)?){2,4}(?![\w-]|[.,]\d)")
# "555-0123", "call 123-4567".
_CALLED: Final = (
    r"(?:[Cc]all|[Dd]ial|[Pp]hone|[Rr]ing|[Tt]el(?:ephone)?\.?|[Ff]ax)(?: (?:me|us|him|her|them|at|on|is))* "
)
_LOCAL: Final = re.compile(rf"(?:(?<![\w$£€.,/-])(?=555-|\d{{3}}-0)|(?P<before>{_CALLED}))(\d{{3}})-(\d{{4}})(?![\w-])")
_EXTENSION: Final = re.compile(r"\b([Ee])xt(?:\.|(?= \d))? ?(\d{1,5})\b")
_VANITY: Final = re.compile(r"(?<![\w-])1-(?P<area>[89]\d\d)-(?P<word>(?=[\dA-Z-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*)\b")
_SOCIAL: Final = re.compile(r"(?<![\w-])(\d{3})-(\d{2})-(\d{4})(?![\w-])")
_CODE: Final = re.compile(
    r"\b((?:[Cc]ode|PIN|pin|[Cc]ard|OTP|otp)(?: is|:)? |\b(?:ending|ends) (?:in|with) )(\d{3,8})\b"
)
_STATES: Final = _TABLES["addresses_states"]
_ZIP: Final = re.compile(rf"\b({'|'.join(_STATES)})(,? )(\d{{5}})(?:-(\d{{4}}))?(?![\w-])")


def electronic(text: str) -> str:
    """Return a text with addresses and names of files in words: ``ab1@x.com`` as ``ab one at x dot com``."""
    # Most texts have dots at ends of sentences only, and the search for addresses is slow.
    if not _INNER_DOT.search(text) and "/" not in text and "\\" not in text:
        return text
    return _ADDRESS.sub(lambda match: " ".join(map(_spoken, _PIECE.findall(match[0]))), text)


def _spoken(piece: str) -> str:
    if piece.isdigit():
        return digits(piece)
    if piece == "jpg":
        return "jpeg"
    return " ".join(piece.upper()) if piece.lower() in _SPELLED else _SIGNS.get(piece, piece)


def telephone(text: str) -> str:
    """Return a text with numbers that are read digit by digit in words: of telephones, postal codes, secrets.

    ``555-123-4567`` becomes ``five five five, one two three, four five six seven``.
    """
    text = _VANITY.sub(_vanity, _PHONE.sub(_phone, text))
    text = _GROUPS.sub(_groups, text)
    text = _LOCAL.sub(lambda match: f"{match['before'] or ''}{digits(match[2])}, {digits(match[3])}", text)
    text = _EXTENSION.sub(lambda match: f"{match[1]}xtension {digits(match[2])}", text)
    text = _SOCIAL.sub(lambda match: ", ".join(map(digits, match.groups())), text)
    text = _ZIP.sub(_zip, text)
    return _CODE.sub(lambda match: match[1] + digits(match[2]), text)


def _zip(match: re.Match[str]) -> str:
    return f"{_STATES[match[1]]}{match[2]}{', '.join(map(digits, filter(None, (match[3], match[4]))))}"


def _phone(match: re.Match[str]) -> str:
    country = match["country"] or match["trunk"]
    groups = [f"{'plus ' if match['plus'] else ''}{digits(country)}"] if country else []
    groups += [digits(match["area"] or match["area2"]), digits(match["exchange"]), digits(match["line"])]
    return ", ".join(groups + ([digits(match["extension"])] if match["extension"] else []))


_MOST_PHONE_DIGITS: Final = 15
"""The longest telephone number, by ITU-T E.164."""


def _groups(match: re.Match[str]) -> str:
    found = re.findall(r"\d+", match[0])
    if not 8 <= sum(map(len, found)) <= _MOST_PHONE_DIGITS:
        return match[0]
    return f"{'plus ' * match[0].startswith('+')}{', '.join(map(digits, found))}"


def _vanity(match: re.Match[str]) -> str:
    area = cardinal(match["area"]) if match["area"].endswith("00") else digits(match["area"])
    words = re.sub(r"\d", lambda digit: f" {digits(digit[0])} ", match["word"].replace("-", " "))
    return f"one, {area}, {' '.join(words.split())}"
