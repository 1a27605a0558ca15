"""The file of a tokenizer, which a store records as a whole: its tokens and ids are those of its library."""

from __future__ import annotations

import base64
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.regular_files import read_regular
from tts_prep.preprocess.text.symbols import RecordedTable

_MAX_BYTES = 1 << 26
"""The maximum size of a file. That of Qwen's models has 11 MB."""


@dataclass(frozen=True)
class TokenizerTable(RecordedTable):
    """A tokenizer's file.

    Attributes:
        kind: ``json`` of Hugging Face's tokenizers, or ``model`` of sentencepiece.
        packed: its bytes, compressed by LZMA, in base 85.
    """

    kind: str
    packed: str
    is_tokenizer = True

    @classmethod
    def read(cls, path: Path) -> TokenizerTable:
        """Return the table of a file.

        Raises:
            ConfigurationError: it cannot be read, or is too large.
        """
        try:
            content = read_regular(path, _MAX_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"frontend: {path}: cannot be read ({reason})") from error
        kind = "json" if content.lstrip()[:1] == b"{" else "model"
        return cls(kind, base64.b85encode(lzma.compress(content, lzma.FORMAT_ALONE)).decode())

    def as_dict(self) -> dict[str, Any]:
        """Return the table as in the configuration of a store."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> TokenizerTable:
        """Return the table of the result of `as_dict`."""
        return cls(**value)

    @property
    def content(self) -> bytes:
        """The bytes of the file.

        Raises:
            ConfigurationError: a store has something else.
        """
        try:
            unpacking = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=1 << 27)
            return unpacking.decompress(base64.b85decode(self.packed), _MAX_BYTES)
        except (AttributeError, TypeError, ValueError, EOFError, lzma.LZMAError) as error:
            raise ConfigurationError(f"frontend: the store's tokenizer is damaged ({error})") from error
