"""The vocabulary: symbols and their ids."""

from __future__ import annotations

import copy
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.format.blanks import with_blanks, without_blanks
from tts_prep.preprocess.text.symbols import AS_READ, Blanks, Preparation, Table, tables_with

UNKNOWN_POLICIES: Final = ("error", "unk", "drop")
"""The treatments of symbols that are not in the vocabulary."""

PADDING: Final = "<pad>"
UNKNOWN: Final = "<unk>"
START: Final = "<s>"
END: Final = "</s>"
BLANK: Final = "<blank>"
BLANKS: Final = ("none", "between", "around", "groups")
"""The placements of blanks between ids."""


class Vocab:
    """A table of symbols, whose ids are their positions.

    Example:
        >>> from tts_prep.preprocess import Vocab
        >>> vocab = Vocab(["_", "a", "n", "t"], pad="_")
        >>> vocab.encode(["t", "a", "n"]).tolist()
        [3, 1, 2]

    Args:
        symbols: the symbols; the last id of a repeated symbol is used.
        pad: the padding symbol.
        unk: the symbol for unknown symbols, or None.
        start, end: the symbols around a sequence, or None.
        blank: the blank symbol; None uses ``pad``.
        characters: `split` returns single characters, even if the table has longer symbols.
        decomposed: `split` decomposes the text first (NFD).
        clusters: the longer symbols that `split` finds with ``characters``.
        aliases: pairs of another symbol for an id, and the one in ``symbols``.
        group_ends: the symbols after which `encode` puts blanks, if they are put after groups.

    Raises:
        ConfigurationError: a special symbol is not in the table.
    """

    ends = False
    """Whether `encode` adds the start and end symbols."""

    blanks: Blanks | None = None
    """The placement of blanks by `encode`; None inserts none."""

    preparation: Preparation = AS_READ
    """What the system of the table does to espeak-ng's phones."""

    def __init__(
        self,
        symbols: Iterable[str],
        pad: str,
        *,
        unk: str | None = None,
        start: str | None = None,
        end: str | None = None,
        blank: str | None = None,
        characters: bool = False,
        decomposed: bool = False,
        clusters: Iterable[str] = (),
        aliases: Iterable[tuple[str, str]] = (),
        group_ends: Iterable[str] = (),
    ) -> None:
        self.symbols = tuple(symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._ids |= {alias: self._ids[symbol] for alias, symbol in aliases}
        self._group_ends = frozenset(self._ids[symbol] for symbol in group_ends)
        specials = {"padding": pad, "unknown": unk, "start": start, "end": end, "blank": blank}
        for what, special in specials.items():
            if special is not None and special not in self._ids:
                raise ConfigurationError(
                    f"vocabulary: the {what} symbol {special!r} is not among the {len(self)} symbols"
                )
        self.pad_symbol, self.unk_symbol, self.start_symbol, self.end_symbol = pad, unk, start, end
        self.blank_symbol = blank
        self.pad = self._ids[pad]
        self.decomposed = decomposed
        self._is_of_characters = characters
        named = frozenset(symbol for symbol in specials.values() if symbol is not None)
        found = clusters if characters else self.symbols
        long = [symbol for symbol in found if len(symbol) > 1 and symbol not in named]
        self._longest: re.Pattern[str] | None = None
        if long:
            choices = sorted(long, key=len, reverse=True)
            self._longest = re.compile(f"{'|'.join(map(re.escape, choices))}|.", re.DOTALL)

    def __repr__(self) -> str:
        return f"<Vocab: {len(self):,} symbols, pad {self.pad_symbol!r}>"

    @property
    def has_long_symbols(self) -> bool:
        """Whether `split` finds symbols of several characters, other than the clusters of a table of characters."""
        return self._longest is not None and not self._is_of_characters

    @classmethod
    def with_specials(
        cls, symbols: Iterable[str], pad: str = PADDING, unk: str = UNKNOWN, start: str = START, end: str = END
    ) -> Vocab:
        """Return a vocabulary whose ids 0 to 3 are the special symbols, as in Parakeet."""
        return cls((pad, unk, start, end, *symbols), pad, unk=unk, start=start, end=end)

    @classmethod
    def from_table(cls, table: Table | Vocab | Sequence[str]) -> Vocab:
        """Return the vocabulary of a named table, of a voice, or of a list of symbols.

        In a list, special symbols are recognized by their names ``<pad>``, ``<unk>``, ``<s>``, ``</s>`` and
        ``<blank>``; without ``<pad>``, the first symbol is the padding, as in StyleTTS2's and VITS's tables. A `Vocab`
        is returned unchanged.

        Raises:
            ConfigurationError: the table is empty.
        """
        if isinstance(table, Vocab):
            return table
        if isinstance(table, Table):
            of: Any = table
            vocab = cls(
                of.symbols,
                of.pad,
                unk=of.unk,
                start=of.start,
                end=of.end,
                blank=of.blank,
                characters=of.characters,
                decomposed=of.decomposed,
                clusters=of.clusters,
                aliases=of.aliases,
                group_ends=of.group_ends,
            )
            vocab.ends, vocab.preparation = of.ends, of.preparation
            return vocab
        if not table:
            raise ConfigurationError("vocabulary: expected at least one symbol, found none")
        unk, start, end, blank = (name if name in table else None for name in (UNKNOWN, START, END, BLANK))
        pad = PADDING if PADDING in table else table[0]
        return cls(table, pad, unk=unk, start=start, end=end, blank=blank)

    def arranged(self, *, ends: bool | None = None, blanks: str | None = None) -> Vocab:
        """Return a vocabulary whose `encode` adds start and end symbols or blanks.

        Args:
            ends: add start and end symbols; None keeps the setting.
            blanks: ``"between"``, ``"around"``, ``"groups"`` or ``"none"``; None keeps the setting.

        Raises:
            ConfigurationError: the table has no start or end symbol, or no groups.
        """
        vocab = copy.copy(self)
        if ends is not None:
            vocab.ends = ends
        if blanks is not None:
            vocab.blanks = None if blanks == "none" else blanks  # type: ignore[assignment]
        if vocab.ends and (self.start_symbol is None or self.end_symbol is None):
            raise ConfigurationError(
                "ends: the table has no start or end symbol; add '<s>' and '</s>' to your own table, or choose "
                "another table"
            )
        if vocab.blanks == "groups" and not self._group_ends:
            raise ConfigurationError(
                "blanks: 'groups' is for the voices of Piper with pinyin, and this table has no groups; choose "
                "'between', 'around' or 'none'"
            )
        return vocab

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._ids

    @property
    def specials(self) -> frozenset[str]:
        """The special symbols, which represent no sound and no punctuation."""
        specials = (self.pad_symbol, self.unk_symbol, self.start_symbol, self.end_symbol, self.blank_symbol)
        return frozenset(symbol for symbol in specials if symbol is not None)

    def lookup(self, symbol: str) -> int | None:
        """Return the id of a symbol, or None if it is not in the table."""
        return self._ids.get(symbol)

    def reverse(self, number: int) -> str:
        """Return the symbol of an id.

        Raises:
            TextError: the id is out of range.
        """
        if not 0 <= number < len(self.symbols):
            raise TextError(f"id {number} is out of range for {len(self)} symbols")
        return self.symbols[number]

    def unknown(self, symbols: Iterable[str]) -> list[str]:
        """Return the symbols that are not in the table, in order, with repetitions."""
        found = symbols if isinstance(symbols, Sequence) else tuple(symbols)
        return [] if self._ids.keys() >= set(found) else [symbol for symbol in found if symbol not in self._ids]

    def split(self, phonemes: str) -> list[str]:
        """Split a text into symbols, by the longest match.

        A character without a match is returned as a symbol.
        """
        if self.decomposed:
            phonemes = unicodedata.normalize("NFD", phonemes)
        return list(phonemes) if self._longest is None else self._longest.findall(phonemes)

    def encode(self, symbols: Sequence[str], unknown: str = "error") -> npt.NDArray[np.int32]:
        """Return the ids of symbols, [n] int32, with the configured start and end symbols and blanks.

        Args:
            unknown: the treatment of symbols that are not in the table: ``"error"``, ``"unk"`` (the id of the unknown
                symbol) or ``"drop"``.

        Raises:
            TextError: a symbol is not in the table; the message lists all unknown symbols, and a named table that has
                all symbols.
        """
        try:
            ids = list(map(self._ids.__getitem__, symbols))
        except KeyError:
            if unknown == "unk" and self.unk_symbol is not None:
                ids = [self._ids.get(symbol, self._ids[self.unk_symbol]) for symbol in symbols]
            elif unknown == "drop":
                ids = [self._ids[symbol] for symbol in symbols if symbol in self._ids]
            else:
                raise TextError(_unknown(self, self.unknown(symbols), symbols)) from None
        if self.ends:
            ids = [self._special(self.start_symbol), *ids, self._special(self.end_symbol)]
        if self.blanks == "groups":
            ids = [number for one in ids for number in ((one, self.blank) if one in self._group_ends else (one,))]
        found = np.array(ids, np.int32)
        return with_blanks(found, self.blank, self.blanks) if self.blanks in ("between", "around") else found

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the symbols of ids, without the start and end symbols and the blanks that `encode` adds."""
        found = np.array([int(number) for number in ids], np.int64)
        numbers = (without_blanks(found, self.blanks) if self.blanks in ("between", "around") else found).tolist()
        if self.blanks == "groups":
            numbers = [
                one for before, one in zip([-1, *numbers], numbers, strict=False) if before not in self._group_ends
            ]
        if self.ends:
            numbers = numbers[1:-1]
        return [self.reverse(number) for number in numbers]

    @property
    def blank(self) -> int:
        """The id of the blank symbol, or of the padding symbol if there is none."""
        return self._special(self.blank_symbol or self.pad_symbol)

    def _special(self, symbol: str | None) -> int:
        return self._ids[symbol or self.pad_symbol]

    def as_dict(self) -> Mapping[str, Any]:
        """Return the vocabulary as in the manifest.

        The keys are ``symbols``, the special symbols with their ids, and ``ends`` and ``blanks`` if they are used; with
        blanks after groups, ``group_ends`` are the ids before them.
        """
        specials = {
            "pad": self.pad_symbol,
            "unk": self.unk_symbol,
            "start": self.start_symbol,
            "end": self.end_symbol,
            "blank": self.blank_symbol,
        }
        ids = {name: self._ids[symbol] for name, symbol in specials.items() if symbol is not None}
        arranged: dict[str, Any] = {"ends": True} if self.ends else {}
        if self.blanks:
            arranged["blanks"] = self.blanks
        if self.blanks == "groups":
            arranged["group_ends"] = sorted(self._group_ends)
        return {"symbols": list(self.symbols), **ids, **arranged}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Vocab:
        """Parse the vocabulary of a manifest, the result of `as_dict`."""
        symbols = value["symbols"]
        named = {name: symbols[value[name]] for name in ("unk", "start", "end", "blank") if name in value}
        group_ends = [symbols[number] for number in value.get("group_ends", ())]
        vocab = cls(symbols, symbols[value["pad"]], group_ends=group_ends, **named)
        vocab.ends, vocab.blanks = value.get("ends", False), value.get("blanks")
        return vocab


class OpenVocab(Vocab):
    """The vocabulary of a frontend while symbols are collected: it contains every symbol, without ids."""

    def __init__(self) -> None:
        super().__init__((PADDING,), PADDING)

    def __contains__(self, symbol: object) -> bool:
        return True

    def unknown(self, symbols: Iterable[str]) -> list[str]:  # noqa: ARG002
        """Return []."""
        return []


def describe_symbols(symbols: Iterable[str]) -> str:
    """Describe the first five distinct symbols, with their code points and counts."""
    counts = Counter(symbols)

    def describe(symbol: str) -> str:
        points = " ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'without a name')}" for c in symbol[:4])
        return f"{symbol!r} ({points}) × {counts[symbol]}"

    return ", ".join(describe(symbol) for symbol in list(counts)[:5]) + (", …" if len(counts) > 5 else "")


def _unknown(vocab: Vocab, unknown: list[str], symbols: Sequence[str]) -> str:
    tables = tables_with(symbols)
    hint = f"; the table {tables[0]!r} has them: --symbols {tables[0]}" if tables else ""
    if any(f"{prefix}HH" in vocab for prefix in ("", "@")) and not any(symbol.isupper() for symbol in symbols):
        # IPA, in a table of ARPAbet: the system that the table is made for knows no other phones.
        hint = "; the phones of this table are ARPAbet: --frontend arpabet gives them"
    elif all(unicodedata.category(symbol[0]).startswith("P") for symbol in unknown):
        # Punctuation makes no other model of this one: Piper itself leaves out what its table has not.
        hint = f"; --unknown drop leaves {'it' if len(set(unknown)) == 1 else 'them'} out, or write other punctuation"
    return f"{len(unknown)} symbol{'s' * (len(unknown) != 1)} not in the vocabulary: {describe_symbols(unknown)}{hint}"
