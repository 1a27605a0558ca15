"""Out-of-domain texts: sentences without recordings, phonemized into the store."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, CorpusError, CorruptStoreError, TextError
from tts_prep.format.contents.shard import FindLocations, inspect_file, locations_apart
from tts_prep.format.decoding import Record, check_version, parse_json
from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.checksums import canonical_json, json_sha256
from tts_prep.format.hdf5.datasets import Array, Locations, read_string
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import create_file, write_dataset, write_number, write_string, write_texts
from tts_prep.format.layout import NUMBER_DTYPES, OOD_FORMAT, OOD_TEXTS, version_text
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.make.phonemizing import phonemize
from tts_prep.preprocess.workers.pool import WorkerPool

_LINES_PER_JOB = 1000


@dataclass(frozen=True)
class OodHeader:
    """The JSON object in the dataset ``header``.

    Attributes:
        key: SHA-256 of the inputs of the texts.
        rows: the number of texts.
        failures: ``where`` and ``reason`` of each line that failed.
    """

    key: str
    rows: int
    failures: tuple[Mapping[str, str], ...]
    version: str


def check_ood_texts(path: Path, find: FindLocations = locations_apart) -> OodHeader:
    """Check the seal of the file, and return its header.

    Raises:
        CorruptStoreError: the file is missing or broken.
    """
    _, locations = inspect_file(path, find)
    return read_ood_header(path, locations)


def read_ood_header(path: Path, locations: Locations) -> OodHeader:
    """Read the header.

    Raises:
        CorruptStoreError: the header is missing or malformed.
    """
    where = f"{path}: header"
    record = Record(where, parse_json(where, read_string(path, locations, "header")))
    if record.text("format") != OOD_FORMAT:
        raise record.fault("format", f"'{OOD_FORMAT}'")
    check_version(path, record.values.get("version"))
    failures = record.items("failures")
    for failure in failures:
        if not isinstance(failure, dict) or not all(isinstance(text, str) for text in failure.values()):
            raise record.fault("failures", "a list of objects of texts")
    return OodHeader(record.text("key"), record.integer("rows", 0, 1 << 40), tuple(failures), record.text("version"))


@dataclass(frozen=True)
class _Line:
    where: str
    text: str


@dataclass(frozen=True)
class _Chunk:
    """The lines of one job; ``start`` is the number of the first."""

    start: int
    lines: tuple[_Line | Failure, ...]


@dataclass(frozen=True)
class _Text:
    text: str
    phoneme_text: str
    phonemes: npt.NDArray[np.int32]


@dataclass(frozen=True)
class _Texts:
    """What the lines of a chunk became."""

    start: int
    items: tuple[_Text | Failure, ...]


def make_ood_texts(
    config: Configuration,
    settings: Mapping[str, Any],
    store: Path,
    pool: WorkerPool[Any, Any],
    source: Path | None = None,
) -> None:
    """Phonemize a file of texts into ``ood.h5``, unless that file exists and is up to date.

    The text of a line is its first field of those separated by ``|``. If the first field of the first line names a .wav
    file, as in StyleTTS2's lists, it is the second field.

    Args:
        config: the configuration, with a file of texts.
        settings: the settings of the run, as in the headers of shards.
        pool: the worker processes.
        source: another store, whose texts are reused if they are up to date.

    Raises:
        ConfigurationError: no line has a usable text.
        StoreError: the file cannot be written.
    """
    ood, path = config.ood_texts, store / OOD_TEXTS
    assert ood is not None
    key = json_sha256([ood.sha256, settings])
    if _is_finished(store, key, source):
        return
    results = _phonemized(ood.path, config, pool)
    texts = [item for item in results if isinstance(item, _Text)]
    failures = [{"where": item.where, "reason": item.reason} for item in results if isinstance(item, Failure)]
    if not texts:
        raise ConfigurationError(
            f"ood-texts: {ood.path}: no line has a usable text; the first: {failures[0]['reason']}"
        )
    write_ood_texts(
        path,
        key,
        [item.text for item in texts],
        [item.phoneme_text for item in texts],
        [item.phonemes for item in texts],
        failures,
    )


def write_ood_texts(
    path: Path,
    key: str,
    texts: Sequence[str],
    phoneme_texts: Sequence[str],
    phonemes: Sequence[Array],
    failures: Sequence[Mapping[str, str]],
) -> None:
    """Write ``ood.h5`` atomically.

    Args:
        phonemes: the ids of each text, [n_phonemes].
    """
    starts = np.cumsum([0, *map(len, phonemes)])
    header = {"format": OOD_FORMAT, "version": version_text(), "key": key, "rows": len(texts)}
    with replacing(path) as partial, create_file(partial) as file:
        write_string(file, "header", canonical_json({**header, "failures": list(failures)}))
        write_dataset(file, "phonemes", np.concatenate([np.empty(0, np.int32), *phonemes]).astype("<i4"))
        columns = file.create_group("columns")
        write_texts(columns, "text", texts)
        write_texts(columns, "phoneme_text", phoneme_texts)
        write_number(columns, "phonemes_start", starts[:-1], NUMBER_DTYPES["phonemes_start"])
        write_number(columns, "n_phonemes", np.diff(starts), NUMBER_DTYPES["n_phonemes"])


def existing_ood_header(path: Path) -> OodHeader | None:
    """Return the header of finished texts; None if there are none or they are broken."""
    try:
        return check_ood_texts(path, read_locations) if path.exists() else None
    except CorruptStoreError:
        return None


def line_about(store: Path) -> str:
    """Return one line about the out-of-domain texts, with the first failed line of the file."""
    header = check_ood_texts(store / OOD_TEXTS)
    failures = header.failures
    failed = f"; {len(failures):,} lines failed, the first: {failures[0]['reason']}" if failures else ""
    return f"out-of-domain texts: {header.rows:,}{failed}"


def _phonemized(path: Path, config: Configuration, pool: WorkerPool[Any, Any]) -> list[_Text | Failure]:
    """Return the phonemes of each line of a file, or why there are none, in order."""
    lines = list(_read(path))
    chunks = [
        _Chunk(start, tuple(lines[start : start + _LINES_PER_JOB])) for start in range(0, len(lines), _LINES_PER_JOB)
    ]
    make = partial(_phonemize, config=config.text)
    done = pool.run(make, chunks, lambda chunk: f"{path.name}, {len(chunk.lines)} lines")
    return [item for texts in sorted(done, key=lambda texts: texts.start) for item in texts.items]


def _is_finished(store: Path, key: str, source: Path | None) -> bool:
    """Return whether a store has the file with this key, or takes it over from another store."""
    for folder in (store, *([source] if source else [])):
        header = existing_ood_header(folder / OOD_TEXTS)
        if header is not None and header.key == key:
            if folder == source:
                (store / OOD_TEXTS).unlink(missing_ok=True)
                take_over_file(source, store, OOD_TEXTS)
            return True
    return False


def _read(path: Path) -> Iterator[_Line | Failure]:
    try:
        lines = read_lines(path)
        first = next(lines)
    except CorpusError as error:
        raise ConfigurationError(f"ood-texts: {error}") from error
    field = 1 if isinstance(first[1], str) and first[1].partition("|")[0].strip().endswith(".wav") else 0
    for where, line in itertools.chain([first], lines):
        if isinstance(line, Failure):
            yield line
            continue
        fields = line.split("|")
        yield _Line(where, fields[field].strip() if len(fields) > field else "")


def _phonemize(chunk: _Chunk, config: TextConfig) -> _Texts:
    return _Texts(chunk.start, tuple(_phonemize_line(line, config) for line in chunk.lines))


def _phonemize_line(line: _Line | Failure, config: TextConfig) -> _Text | Failure:
    if isinstance(line, Failure):
        return line
    try:
        return _Text(line.text, *phonemize(line.text, config))
    except TextError as error:
        return Failure("", line.where, "text", f"{line.where}: {error}")
