"""The values of ``--symbols``: the name of a table, a file, or ``auto``."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.symbols.catalogue import TABLES
from tts_prep.preprocess.text.symbols.file import check_unique, read_symbols

AUTO: Final = "auto"
"""The value for collecting the symbols of the corpus."""


def choose_symbols(value: str, folder: Path = Path()) -> str | tuple[str, ...]:
    """Return the name of a table or ``"auto"`` unchanged, and the symbols in a file for any other value.

    Use ``./NAME`` for a file that has the name of a table.

    Args:
        folder: the folder of a relative path.

    Raises:
        ConfigurationError: the value is neither a table nor a file, or the file is not a table.
    """
    if value == AUTO or value in TABLES:
        return value
    path = folder / value
    if not path.exists():
        near = difflib.get_close_matches(value.lower(), (*TABLES, AUTO), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the tables are {', '.join(TABLES)}"
        raise ConfigurationError(f"symbols: {value}: not a table, a file or 'auto'; {hint}")
    symbols = read_symbols(path)
    # StyleTTS2's and VITS's tables contain the apostrophe twice, which is allowed in copies of them.
    public = (table.symbols for table in TABLES.values())
    n_public = max((len(table) for table in public if symbols[: len(table)] == table), default=0)
    check_unique(symbols, path.name, n_public)
    return symbols
