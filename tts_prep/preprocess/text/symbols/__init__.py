"""The named symbol tables, the choice among them, a file and `auto`, and what their systems do to texts and phones."""

import importlib.resources
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.toml_files import read_toml

Steps: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]

TIE: Final = "\u0361"
"""What espeak-ng writes between the letters of one sound, if it is asked to."""


def _replaced(text: str, steps: Steps) -> str:
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
    text: Steps = ()
    phones: Mapping[str, Steps] = field(default_factory=dict)
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


Blanks: TypeAlias = Literal["between", "around", "groups"]
"""The placement of blanks: between all symbols, also at both ends, or after each group of symbols (Piper's pinyin)."""


class Table:
    """A table of symbols, with what its system does around the ids."""

    clusters: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    group_ends: tuple[str, ...] = ()


class RecordedTable(ABC):
    """A table in a file, which a store records as a whole."""

    is_tokenizer: ClassVar[bool] = False

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return the table as in the configuration of a store."""


@dataclass(frozen=True)
class SymbolTable(Table):
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
        prepared_by: the name of what the system does to espeak-ng's phones before it looks up ids; empty for nothing.
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
    prepared_by: str = ""

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, in the order of their ids."""
        file = importlib.resources.files(__package__).joinpath("tables", f"{self.name}.txt")
        return parse_symbols(file.read_bytes(), f"{self.name}.txt")

    @property
    def preparation(self) -> Preparation:
        """What the system does to espeak-ng's phones before it looks up ids."""
        made: Preparation = AS_READ
        if self.prepared_by:
            made = doors.need("preparations", self.prepared_by, is_record=True)
        return made


def _tables() -> Iterator[SymbolTable]:
    for name, row in read_toml(__package__, "tables.toml").items():
        yield SymbolTable(name, **row)


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


def choose_symbols(value: str, folder: Path = Path()) -> str | tuple[str, ...] | RecordedTable:
    """Return the name of a table or ``"auto"`` unchanged, and the symbols or the voice's table in a file otherwise.

    Use ``./NAME`` for a file that has the name of a table.

    Args:
        folder: the folder of a relative path.

    Raises:
        ConfigurationError: the value is neither a table nor a file, or the file is not a table.
    """
    if value == AUTO or value in TABLES:
        return value
    found: tuple[str, ...] | RecordedTable = doors.need("symbols", "file")(value, folder)
    return found


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
