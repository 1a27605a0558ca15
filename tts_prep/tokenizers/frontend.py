"""The frontend ``tokenizer:FILE``: texts become the ids that a language model's tokenizer gives them."""

from __future__ import annotations

import atexit
import base64
import importlib.metadata
import importlib.util
import lzma
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.format.files.child_process import ChildProcess, CrashedError, RefusedError
from tts_prep.format.files.paths import read_regular
from tts_prep.preprocess.text.frontends.frontend import VocabFrontend
from tts_prep.preprocess.text.symbols import RecordedTable
from tts_prep.preprocess.text.vocab import Vocab

_LIMITS: Final = {"cpu_seconds": 20, "memory": 1 << 31}
"""Those of one answer; the first one opens the file."""


class TokenizerFrontend(VocabFrontend):
    """The ids of the tokenizer's own library, with the special tokens that it adds by default.

    Texts are not normalized, and phonemes as text are the text itself.

    Args:
        symbols: the tokenizer's file.

    Raises:
        ConfigurationError: there is no file, or the library cannot read it.
        MissingPackageError: the library is not installed.
    """

    def __init__(
        self, language: str = "", symbols: Any = None, unknown: str = "error", punctuation: str | None = None
    ) -> None:
        if not isinstance(symbols, TokenizerTable):
            raise ConfigurationError(
                "frontend: 'tokenizer' needs a file, as --frontend tokenizer:FILE, and no --symbols: a tokenizer.json, "
                "or a model of sentencepiece"
            )
        self._file, self._library = symbols, "tokenizers" if symbols.kind == "json" else "sentencepiece"
        if importlib.util.find_spec(self._library) is None:
            library = self._library
            raise MissingPackageError(
                f"this needs {library}, which is not installed: pip install 'tts-prep[tokenizers]'"
            )
        tokens, pad = self._ask(ConfigurationError, "table")
        symbol = [f"<unused-{number}>" if token is None else token for number, token in enumerate(tokens)]
        super().__init__(Vocab(symbol, (symbol or [""])[pad], characters=True), None, unknown, punctuation)
        self.language, self.reads_marks = language, True

    def phoneticize(self, text: str, language: str | None = None) -> str:  # noqa: ARG002
        """Return the text unchanged.

        Raises:
            TextError: it is empty.
        """
        if not text.strip():
            raise TextError("the text is empty")
        return text

    def numericalize(self, phonemes: str) -> npt.NDArray[np.int32]:
        """Return the ids of a text, [n_tokens] int32.

        Raises:
            TextError: the library fails, or takes too much time or memory.
        """
        return np.array(self._ask(TextError, "encode", phonemes), np.int32)

    def split(self, phonemes: str) -> list[str]:
        """Return the tokens of a text."""
        return list(self._ask(TextError, "pieces", phonemes))

    def decode(self, ids: Iterable[int]) -> str:
        """Return ids as text, without special tokens."""
        return str(self._ask(TextError, "decode", list(map(int, ids))))

    def remarks(self, text: str, phonemes: str, language: str | None = None) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Return (): a tokenizer has a token for what it does not know."""
        return ()

    def software(self) -> dict[str, str]:
        """Return the version of the library."""
        return {self._library: importlib.metadata.version(self._library)}

    def _ask(self, kind: type[ConfigurationError | TextError], what: str, *values: Any) -> Any:
        try:
            process, path = _process_of(os.getpid(), self._file)
            return process.ask(path, what, *values, **_LIMITS)[0]
        except RefusedError as error:
            raise kind(f"tokenizer: {error}") from None
        except CrashedError:
            raise kind("tokenizer: crashes its library, or takes too long to read; is the file damaged?") from None


@lru_cache(maxsize=2)
def _process_of(_process: int, table: TokenizerTable) -> tuple[ChildProcess, Path]:
    """Return the process of a library, one for each process that may have been forked, and the file that it reads."""
    folder = tempfile.TemporaryDirectory(prefix="tts-prep-tokenizer-")
    path = Path(folder.name, f"tokenizer.{table.kind}")
    path.write_bytes(table.content)
    process = ChildProcess("tts_prep.tokenizers.library:answer")
    atexit.register(process.end)
    atexit.register(folder.cleanup)
    return process, path


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
