"""JSON lines, as written by NeMo, Emilia, audiofolders and lhotse, and arrays of objects."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tts_prep.corpora.manifests.json_arrays import json_array, object_or_failure
from tts_prep.corpora.manifests.row import Row
from tts_prep.corpora.manifests.text_files import open_text, opened_text
from tts_prep.format.records.failures import Failure


def json_objects(path: Path) -> Iterator[tuple[str, dict[str, Any] | Failure]]:
    """Yield the JSON objects of a file, compressed by gzip or not, as pairs (location, object or failure).

    The file has one object per line, or is one array of objects.

    Raises:
        CorpusError: the file cannot be read.
    """
    if _is_array(path):
        yield from json_array(path)
        return
    for where, line in open_text(path):
        if isinstance(line, Failure):
            yield where, line
            continue
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield where, Failure("", where, "corpus", f"{where}: not JSON ({error})")
            continue
        yield where, object_or_failure(where, value)


def _is_array(path: Path) -> bool:
    """Return whether a file begins with an array of objects."""
    try:
        with opened_text(path) as file:
            first = file.read(1000)
    except (OSError, EOFError, zlib.error):
        return False
    return re.match(rb"(\xef\xbb\xbf)?\s*\[\s*\{", first) is not None


class JsonLines:
    """A file with one JSON object per line, or an array of them."""

    holds_audio = False
    arrays: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self) -> Iterator[Row | Failure]:
        """Yield the rows in order."""
        for where, value in json_objects(self._path):
            yield value if isinstance(value, Failure) else Row(where, value)
