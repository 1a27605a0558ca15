"""Assignment of splits by lists of ids, as the column ``split``."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

REST = "rest"
"""The split of an utterance that is in no list."""


def split_checksums(lists: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each list by split; a store depends on the contents of the lists, not on their paths.

    Raises:
        ConfigurationError: a list cannot be read.
    """
    try:
        return {name: file_sha256(path) for name, path in sorted(lists.items())}
    except OSError as error:
        raise ConfigurationError(f"split: {error.filename}: cannot be read ({error.strerror})") from error


def with_splits(
    items: Iterable[SourceUtterance | Failure], lists: Mapping[str, Path]
) -> Iterator[SourceUtterance | Failure]:
    """Add the column ``split`` to the utterances of a corpus: the name of the list that has the id, or ``"rest"``.

    Args:
        items: the rows of the corpus.
        lists: split → a file with one id per line; of fields separated by ``|``, the first is the id.

    Raises:
        CorpusError: a list cannot be read, or has an id that is not in the corpus.
        ConfigurationError: an id is in two lists.
    """
    splits: dict[str, tuple[str, str]] = {}
    for name, path in lists.items():
        for where, line in read_lines(path):
            if isinstance(line, Failure):
                raise CorpusError(line.reason)
            identifier = line.partition("|")[0].strip()
            if splits.setdefault(identifier, (name, where))[0] != name:
                other, location = splits[identifier]
                raise ConfigurationError(f"{where}: '{identifier}' is already in the split '{other}', by {location}")
    missing = dict(splits)
    for item in items:
        missing.pop(item.id, None)
        if isinstance(item, SourceUtterance):
            yield replace(item, meta={**item.meta, "split": splits.get(item.id, (REST, ""))[0]})
        else:
            yield item
    for identifier, (_, where) in missing.items():
        raise CorpusError(f"{where}: the corpus has no utterance '{identifier}'")
