"""Symbol tables from files."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import ConfigurationError


def read_symbols(path: Path) -> tuple[str, ...]:
    """Read a table with one symbol a line, in the order of their ids; a line that is one space is the symbol space.

    The specials are found by their names, as `tts_prep.preprocess.text.Vocab.from_table` says.

    Raises:
        ConfigurationError: the file cannot be read, is not UTF-8, or has an empty line.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
    except OSError as error:
        raise ConfigurationError(f"symbols: {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"symbols: {path}: expected UTF-8 ({error.reason} at byte {error.start})") from error
    for number, line in enumerate(lines, 1):
        if not line:
            raise ConfigurationError(f"symbols: {path.name}:{number}: expected a symbol, found an empty line")
    return tuple(lines)
