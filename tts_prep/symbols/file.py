"""Symbol tables in files: one symbol per line, a voice's JSON, or the list in a Python file."""

import ast
import difflib
import io
import os
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.paths import read_regular
from tts_prep.preprocess.text.symbols import AUTO, TABLES, parse_symbols
from tts_prep.symbols.voice import VoiceTable, read_voice

NAME: Final = "symbols"
"""The name of the list in the files of VITS, Matcha-TTS, StyleTTS2, GPT-SoVITS and MeloTTS."""
_MAX_PYTHON: Final = 1 << 18
_MAX_DEPTH: Final = 20
_MAX_SYMBOLS: Final = 10_000
_MAX_NAMES: Final = 200
_FUNCTIONS: Final = {"list": list, "tuple": list, "set": set, "sorted": sorted}
_CHANGES: Final = {"append", "extend", "insert", "remove", "pop", "sort", "reverse", "clear"}
_LAYOUT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}

Value = str | list[str] | set[str]


class _NotReadError(Exception):
    """An expression that is not built of texts and lists alone."""


def python_symbols(content: bytes, name: str) -> tuple[str, ...]:
    """Return the list ``symbols`` of a Python file.

    Read are texts, lists, tuples, their sums, names assigned before, and ``list``, ``tuple``, ``set`` and ``sorted``.
    The file is taken apart into tokens, and never run: a list that is made in another way is refused.

    Args:
        name: the name of the file, for messages.

    Raises:
        ConfigurationError: the file is too long, is not Python, or has no such list.
        UnicodeDecodeError: the file is not UTF-8.
    """
    if len(content) > _MAX_PYTHON:
        raise ConfigurationError(f"symbols: {name}: expected a Python file of at most {_MAX_PYTHON:,} bytes")
    text = content.decode("utf-8-sig")
    known: dict[str, Value] = {}
    changed: dict[str, int] = {}
    try:
        for line in _lines(text):
            _read_line(line, known, changed)
    except (tokenize.TokenError, SyntaxError, ValueError) as error:
        raise ConfigurationError(f"symbols: {name}: not Python ({error.args[0]})") from error
    value = known.get(NAME)
    if not value or isinstance(value, str | set):
        # The order of a set differs from run to run, and so would the ids.
        line_number = changed.get(NAME)
        where = f":{line_number}: {NAME!r} is made by code, which is not run" if line_number else f": no list {NAME!r}"
        raise ConfigurationError(
            f"symbols: {name}{where}; expected a list of texts; name a table of tts-prep symbols, or write the "
            "symbols into a text file, one in each line"
        )
    for symbol in value:
        if not symbol or "\n" in symbol or any("\ud800" <= c <= "\udfff" for c in symbol):
            raise ConfigurationError(f"symbols: {name}: expected symbols, found {symbol!r} among {NAME!r}")
    return tuple(value)


def _lines(text: str) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the logical lines, without comments and layout."""
    line: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if line:
                yield line
            line = []
        elif token.type not in _LAYOUT:
            line.append(token)


def _read_line(line: list[tokenize.TokenInfo], known: dict[str, Value], changed: dict[str, int]) -> None:
    """Take what a line assigns, or forget the names that it may change."""
    first, second = line[0], line[1].string if len(line) > 1 else ""
    if first.start[1] == 0 and first.type == tokenize.NAME and second in ("=", "+="):
        value = _assigned(line, known)
        if value is not None and (len(known) < _MAX_NAMES or first.string in known):
            known[first.string] = value
            return
    # A call may change the lists that it is given, as `random.shuffle` does.
    may_change_all = first.string in ("import", "from", "del") or (second in (".", "(") and first.string != "print")
    for place, token in enumerate(line):
        after = [follower.string for follower in line[place + 1 : place + 3]]
        is_changed = after[:1] in (["="], ["+="]) or (after[:1] == ["."] and after[-1] in _CHANGES)
        is_target = place == 0 and after[:1] == ["["]
        if token.type == tokenize.NAME and (is_changed or is_target or may_change_all):
            known.pop(token.string, None)
            changed[token.string] = token.start[0]


def _assigned(line: list[tokenize.TokenInfo], known: dict[str, Value]) -> Value | None:
    try:
        value = _Expression(line[2:], known).value()
        return _sum(known.get(line[0].string), value) if line[1].string == "+=" else value
    except _NotReadError:
        return None


def _sum(left: Value | None, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str):
        total: str | list[str] = left + right
    elif isinstance(left, list) and isinstance(right, list):
        total = left + right
    else:
        raise _NotReadError
    if len(total) > _MAX_SYMBOLS:
        raise _NotReadError
    return total


class _Expression:
    """The value of an expression of texts, lists, sums and names."""

    def __init__(self, tokens: list[tokenize.TokenInfo], known: dict[str, Value]) -> None:
        self._tokens = tokens
        self._known = known
        self._place = 0

    def value(self) -> Value:
        """Return the value.

        Raises:
            _NotReadError: the expression has anything else.
        """
        value = self._terms(0)
        if self._next() is not None:
            raise _NotReadError
        return value

    def _next(self) -> str | None:
        return self._tokens[self._place].string if self._place < len(self._tokens) else None

    def _take(self, expected: str) -> bool:
        found = self._next() == expected
        self._place += found
        return found

    def _terms(self, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            raise _NotReadError
        value = self._term(depth)
        while self._take("+"):
            value = _sum(value, self._term(depth))
        return value

    def _term(self, depth: int) -> Value:
        if self._place == len(self._tokens):
            raise _NotReadError
        token = self._tokens[self._place]
        self._place += 1
        if token.type == tokenize.STRING:
            self._place -= 1
            return self._text()
        if token.string == "[":
            return self._items("]", depth)
        if token.string == "(":
            return self._parenthesized(depth)
        if token.type == tokenize.NAME and token.string in _FUNCTIONS and self._take("("):
            value = self._terms(depth + 1)
            if not self._take(")"):
                raise _NotReadError
            made: list[str] | set[str] = _FUNCTIONS[token.string](value)  # type: ignore[operator]
            if token.string != "sorted" and isinstance(value, set) and isinstance(made, list):
                raise _NotReadError
            return made
        if token.type == tokenize.NAME and token.string in self._known:
            return self._known[token.string]
        raise _NotReadError

    def _text(self) -> str:
        text = ""
        while self._place < len(self._tokens) and self._tokens[self._place].type == tokenize.STRING:
            value = None
            string = self._tokens[self._place].string
            if "f" not in string[: string.index(string[-1])].lower():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of escapes such as "\\d"
                    value = ast.literal_eval(string)
            if not isinstance(value, str):
                raise _NotReadError
            text += value
            self._place += 1
        return text

    def _parenthesized(self, depth: int) -> Value:
        place = self._place
        value = self._terms(depth + 1) if self._next() != ")" else []
        if self._take(")"):
            return value
        self._place = place
        return self._items(")", depth)

    def _items(self, end: str, depth: int) -> list[str]:
        items: list[str] = []
        while not self._take(end):
            spread = self._take("*")
            value = self._terms(depth + 1)
            if spread != isinstance(value, list):
                raise _NotReadError
            items += value if isinstance(value, list) else [value]  # type: ignore[list-item]
            if len(items) > _MAX_SYMBOLS:
                raise _NotReadError
            if not self._take(",") and self._next() != end:
                raise _NotReadError
        return items


_MAX_BYTES: Final = 1 << 22
"""The maximum length of a table; that of a voice has some ten thousand bytes."""


def read_symbols(path: Path) -> tuple[str, ...] | VoiceTable:
    """Read a table with one symbol per line, in the order of ids. A line with a single space is the symbol space.

    Every line may also be a symbol, a space or tab, and an id, as in PaddleSpeech's ``phone_id_map.txt`` and in
    ``tokens.txt``. A file ``*.json`` is the configuration of a voice: Piper's, with ``phoneme_id_map``, or Kokoro's,
    with ``vocab``, which also says where ends and blanks are; see `VoiceTable`. A file ``*.py`` is a system's
    ``symbols.py``, whose list ``symbols`` is read without running it. Special symbols are recognized by their names,
    see `tts_prep.preprocess.Vocab.from_table`.

    Raises:
        ConfigurationError: the file cannot be read, is not UTF-8, has an empty line, or ids that are not 0, 1, 2, …; or
            the JSON or the Python file has no table.
    """
    try:
        content = read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"symbols: {path}: cannot be read ({error.strerror})") from error
    try:
        if path.suffix == ".json":
            return read_voice(content, path.name)
        if path.suffix == ".py":
            return python_symbols(content, path.name)
        return _by_ids(parse_symbols(content, path.name), path.name)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"symbols: {path}: expected UTF-8 ({error.reason} at byte {error.start})") from error


def _by_ids(lines: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return symbols in the order of the ids that follow them; unchanged lines if some have no id."""
    pairs = [line.rpartition("\t" if "\t" in line else " ") for line in lines]
    if not all(symbol and number.isascii() and number.isdecimal() for symbol, _, number in pairs):
        return lines
    # Python refuses to convert thousands of digits.
    symbols = {int(number): symbol for symbol, _, number in pairs if len(number) < 12}
    missing = next((number for number in range(len(lines)) if number not in symbols), None)
    if missing is not None:
        raise ConfigurationError(
            f"symbols: {name}: expected each id from 0 to {len(lines) - 1} once, {missing} is missing"
        )
    return tuple(symbols[number] for number in range(len(lines)))


def check_unique(symbols: tuple[str, ...], name: str, n_public: int = 0) -> None:
    """Check that no symbol is repeated, because only one of its ids would be used.

    Args:
        n_public: the number of leading symbols that are a public table, which may contain repetitions.

    Raises:
        ConfigurationError: a symbol is repeated; the message has both lines.
    """
    lines: dict[str, int] = {}
    for number, symbol in enumerate(symbols, 1):
        earlier = lines.setdefault(symbol, number)
        if earlier != number and number > n_public:
            raise ConfigurationError(
                f"symbols: {name}:{number}: the symbol {symbol!r} is already in line {earlier}; remove one of them"
            )


def symbols_of_file(value: str, folder: Path) -> tuple[str, ...] | VoiceTable:
    """Return the symbols, or the voice's table, in a file; see `choose_symbols`."""
    path = folder / value
    if not os.path.exists(path):  # noqa: PTH110 (Path.exists raises for a name that is too long)
        near = difflib.get_close_matches(value.lower(), (*TABLES, AUTO), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the tables are {', '.join(TABLES)}"
        raise ConfigurationError(f"symbols: {value}: not a table, a file or 'auto'; {hint}")
    symbols = read_symbols(path)
    if isinstance(symbols, VoiceTable):
        return symbols
    if path.suffix == ".py":
        # A system's own list: a repeated symbol has its later id there too, and without one all ids behind it shift.
        return symbols
    # StyleTTS2's and VITS's tables contain the apostrophe twice, which is allowed in copies of them.
    public = (table.symbols for table in TABLES.values())
    n_public = max((len(table) for table in public if symbols[: len(table)] == table), default=0)
    check_unique(symbols, path.name, n_public)
    return symbols
