"""The named symbol tables, with their systems and sources, and the choice among them, a file and `auto`."""

import difflib
import importlib.resources
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.symbols.file import check_unique, parse_symbols, read_symbols
from tts_prep.preprocess.text.symbols.preparation import AS_READ, PREPARATIONS, Preparation
from tts_prep.preprocess.text.symbols.voice import Blanks, VoiceTable
from tts_prep.toml_files import read_toml


@dataclass(frozen=True)
class SymbolTable:
    """A public symbol table of ``tables.toml``. Its symbols are in ``tables/NAME.txt``, in the order of their ids.

    Attributes:
        name: the name for ``--symbols``.
        made_for: the systems whose models use these ids.
        source: the publication of the ids.
        licence: the licence of the source.
        pad: the padding symbol.
        unk, start, end, blank: the symbols for unknown symbols, for the ends of utterances, and for blanks.
        ends: whether the system adds the start and end symbols to every utterance.
        blanks: the system's placement of blanks, or None.
        characters: texts are split into single characters, although the table has longer symbols.
        decomposed: the system decomposes texts (NFD) before lookup.
        heteronyms: the system reads words with two pronunciations by the words around them.
        preparation: what the system does to espeak-ng's phones before it looks up ids.
    """

    name: str
    made_for: str
    source: str
    licence: str
    pad: str
    unk: str | None = None
    start: str | None = None
    end: str | None = None
    blank: str | None = None
    ends: bool = False
    blanks: Blanks | None = None
    characters: bool = False
    decomposed: bool = False
    heteronyms: bool = False
    preparation: Preparation = AS_READ

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, in the order of their ids."""
        file = importlib.resources.files(__package__).joinpath("tables", f"{self.name}.txt")
        return parse_symbols(file.read_bytes(), f"{self.name}.txt")


def _tables() -> Iterator[SymbolTable]:
    for name, row in read_toml(__package__, "tables.toml").items():
        yield SymbolTable(name, **row | {"preparation": PREPARATIONS[row.get("preparation", "")]})


TABLES: Final[Mapping[str, SymbolTable]] = {table.name: table for table in _tables()}
"""The named tables."""


def get_table(name: str) -> SymbolTable:
    """Return a named table.

    Raises:
        ConfigurationError: there is no table of that name.
    """
    if name not in TABLES:
        raise ConfigurationError(f"symbols: expected one of {', '.join(TABLES)}, found {name!r}")
    return TABLES[name]


def tables_with(symbols: Iterable[str]) -> list[str]:
    """Return the names of the tables that contain all of these symbols."""
    required = set(symbols)
    return [table.name for table in TABLES.values() if required.issubset(table.symbols)]


AUTO: Final = "auto"
"""The value for collecting the symbols of the corpus."""


def choose_symbols(value: str, folder: Path = Path()) -> str | tuple[str, ...] | VoiceTable:
    """Return the name of a table or ``"auto"`` unchanged, and the symbols or the voice's table in a file otherwise.

    Use ``./NAME`` for a file that has the name of a table.

    Args:
        folder: the folder of a relative path.

    Raises:
        ConfigurationError: the value is neither a table nor a file, or the file is not a table.
    """
    if value == AUTO or value in TABLES:
        return value
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
