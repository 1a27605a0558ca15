"""Detection of the container of a manifest file, by its name and first lines."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tts_prep.corpora.manifests.json_lines import JsonLines, Lhotse, json_objects
from tts_prep.corpora.manifests.rows import Container
from tts_prep.corpora.manifests.tables import ParquetFile, Table
from tts_prep.corpora.manifests.tars import Tar
from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.lines import of_cell

_FOLDERS = (
    *("metadata.jsonl", "metadata.csv", "metadata.parquet"),
    # save_to_disk writes data-*.arrow; cache-*.arrow beside them are results of datasets' functions.
    *("data-*.arrow", "*.arrow"),
    *("data/*.parquet", "*.parquet", "*.tar"),
)
"""Manifests in a folder: of an audiofolder, ``save_to_disk``, a clone from the hub, or archives."""


_BINARY: Final = (".parquet", ".arrow")
_JSON: Final = (".jsonl", ".json", ".ndjson")
_TEXTS: Final = (".csv", ".tsv", ".txt", ".psv")


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the given manifest files, with folders replaced by the manifests in them, sorted by name.

    Raises:
        CorpusError: a path does not exist, or a folder has no manifest.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        manifests = _manifests(path)
        if not manifests:
            below = [folder.name for folder in sorted(path.iterdir()) if folder.is_dir() and _manifests(folder)]
            hint = f"give {', '.join(below)}" if below else f"expected one of {', '.join(_FOLDERS)}"
            raise CorpusError(f"{path}: no manifest in this folder; {hint}")
        files.extend(manifests)
    for path in files:
        if not path.exists():
            raise CorpusError(f"{path}: no such file")
        if not path.is_file():
            raise CorpusError(f"{path}: expected a regular file")
    return files


def _manifests(folder: Path) -> list[Path]:
    return next(filter(None, (sorted(folder.glob(pattern)) for pattern in _FOLDERS)), [])


def open_containers(files: Sequence[Path], audio: str | None) -> list[tuple[Path, Container]]:
    """Open manifest files.

    Args:
        audio: the column of the recordings, or None if the user did not set it.

    Raises:
        CorpusError: a file has an unknown format, or cannot be read.
    """
    recordings = [path for path in files if _is_json(path) and _has(path, "sources")]
    if len(recordings) > 1:
        raise CorpusError(
            f"{recordings[1]}: expected at most one manifest of lhotse recordings, found {len(recordings)}"
        )
    containers = [
        (path, _open(path, recordings[0] if recordings else None, audio)) for path in files if path not in recordings
    ]
    if not containers:
        raise CorpusError(f"{files[0]}: recordings without texts; add the manifest of the supervisions")
    return containers


def _open(path: Path, recordings: Path | None, audio: str | None) -> Container:
    if _suffix(path) == ".tar":
        return Tar(path)
    is_lhotse = _is_json(path) and (
        _has(path, "supervisions") or (_has(path, "recording_id") and recordings is not None)
    )
    return Lhotse(path, recordings) if is_lhotse else open_table(path, audio)


def open_table(path: Path, audio: str | None = None) -> Container:
    """Open a table: CSV, TSV, JSON lines, parquet or arrow."""
    suffix = _suffix(path)
    if suffix in _BINARY:
        return ParquetFile(path, audio)
    if suffix in _TEXTS:
        return Table(path)
    if _is_json(path):
        return JsonLines(path)
    raise CorpusError(f"{path}: expected .jsonl, .json, .csv, .tsv, .parquet, .arrow or .tar (.jsonl.gz, .csv.gz)")


def _suffix(path: Path) -> str:
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def _is_json(path: Path) -> bool:
    return any(suffix in _JSON for suffix in path.suffixes[-2:])


def _has(path: Path, key: str) -> bool:
    """Return whether the first object of a file has a key."""
    first = next((value for _, value in islice(json_objects(path), 10) if isinstance(value, dict)), {})
    return key in first


def table_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the values of each row of a table: CSV, TSV, JSON lines, parquet or arrow.

    An apostrophe that keeps a spreadsheet from taking a cell of CSV or TSV for a formula is removed.

    Raises:
        CorpusError: the file cannot be read, or a row is damaged.
    """
    is_csv = any(suffix in (".csv", ".tsv") for suffix in path.suffixes[-2:])
    for file in find_files([path]):
        for found in open_table(file).rows():
            if isinstance(found, Failure):
                raise CorpusError(found.reason)
            values = {**found.values, **({"audio": found.audio} if found.audio else {})}
            if is_csv:
                values = {name: of_cell(value) if isinstance(value, str) else value for name, value in values.items()}
            yield found.where, values
