"""Symbol tables in files: one symbol per line, a voice's JSON, or the list in a Python file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.text.symbols.python_lists import python_symbols
from tts_prep.preprocess.text.symbols.voice import VoiceTable, read_voice

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


def parse_symbols(content: bytes, name: str) -> tuple[str, ...]:
    """Parse the bytes of a table.

    Args:
        name: the name of the file, for messages.

    Raises:
        ConfigurationError: a line is empty.
        UnicodeDecodeError: the file is not UTF-8.
    """
    lines = content.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            raise ConfigurationError(f"symbols: {name}:{number}: expected a symbol, found an empty line")
    return tuple(lines)


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
