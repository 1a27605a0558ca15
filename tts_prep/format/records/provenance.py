"""``provenance.json``: the licence of a store's recordings and texts, and where they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError, CorruptStoreError
from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.atomic import keep_contents
from tts_prep.format.files.paths import read_text, stored_file
from tts_prep.format.layout import PROVENANCE

RIGHTS: Final = ("license", "consent", "origin")
"""Columns with a meaning: what is said of one row or speaker; an empty licence or origin is that of the store."""

_MAX_CHARACTERS: Final = 1 << 17
_MAX_BYTES: Final = 1 << 22
# Not whatever is not printable: many scripts need format characters and spaces of their own.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Provenance:
    """What is said about the recordings and texts of a store, which no value of it depends on.

    Attributes:
        licence: the licence, an identifier such as ``cc-by-4.0`` or a text; empty if none was named.
        origin: where the recordings and texts come from, and how they were made; empty if it was not said.
    """

    licence: str = ""
    origin: str = ""

    @classmethod
    def parse(cls, where: Path | str, value: Mapping[str, object]) -> Provenance:
        """Return what an object of a store says.

        Raises:
            CorruptStoreError: it violates the format.
        """
        record = Record(where, value)
        found = cls(*(record.text(key) if key in record else "" for key in ("license", "origin")))
        if (fault := found._fault()) is not None:
            raise CorruptStoreError(f"{where}: {fault}")
        return found

    def checked(self) -> Provenance:
        """Return it without white space at the ends.

        Raises:
            ConfigurationError: a text is too long, or has control characters.
        """
        found = Provenance(self.licence.strip(), self.origin.strip())
        if (fault := found._fault()) is not None:
            raise ConfigurationError(fault)
        return found

    def _fault(self) -> str | None:
        for name, text in self.as_dict().items():
            if len(text) > _MAX_CHARACTERS:
                return f"{name}: {len(text):,} characters, more than the maximum of {_MAX_CHARACTERS:,}"
            if odd := _CONTROL.search(text):
                return f"{name}: expected a text, found the character {odd[0]!a}"
        return None

    def completed(self, other: Provenance) -> Provenance:
        """Return it with what it leaves out from another."""
        return Provenance(self.licence or other.licence, self.origin or other.origin)

    def as_dict(self) -> dict[str, str]:
        """Return what is said, by key."""
        return {key: text for key, text in (("license", self.licence), ("origin", self.origin)) if text}


def write_provenance(store: Path, provenance: Provenance) -> None:
    """Write ``provenance.json`` atomically, unless it exists with the same contents; without any, remove it.

    Raises:
        WriteError: the file cannot be written.
    """
    said = provenance.as_dict()
    keep_contents(store / PROVENANCE, f"{json.dumps(said, indent=1, ensure_ascii=False)}\n".encode() if said else b"")


def read_provenance(store: Path) -> Provenance:
    """Read ``provenance.json``; nothing is said if there is no such file.

    Raises:
        CorruptStoreError: it is broken.
    """
    path = store / PROVENANCE
    if not path.is_symlink() and not path.exists():
        return Provenance()
    value = parse_json(path, read_text(stored_file(store, PROVENANCE), _MAX_BYTES))
    if not isinstance(value, dict):
        raise CorruptStoreError(f"{path}: expected a JSON object")
    return Provenance.parse(path, value)
