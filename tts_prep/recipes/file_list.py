"""Utterances of stores, addressed by the recording paths of a system's file list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.regular_files import read_regular
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import digest
from tts_prep.recipes.accepted import Recipe, Settings, check_store

_MAX_BYTES: Final = 1 << 28


class ListedUtterances(Sequence[Utterance]):
    """Utterances by path: ``STORE/ID.wav`` is the utterance ID of the store in the folder STORE.

    A system's file list works unchanged if its folder of recordings is the store, or a link to it. The file extension
    is ignored.

    Args:
        paths: paths of recordings.

    Attributes:
        paths: the paths, as strings.
        places: the store and the row of each path.

    Raises:
        ConfigurationError: there are no paths, or a store has no utterance of that name.
        StoreError: a folder is not a store.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self.paths = [str(path) for path in paths]
        if not self.paths:
            raise ConfigurationError("the file list is empty")
        stores: dict[PurePath, tuple[UtteranceDataset, dict[str, int]]] = {}
        self.places: list[tuple[UtteranceDataset, int]] = []
        for path in map(PurePath, self.paths):
            folder = path.parent
            if folder not in stores:
                dataset = UtteranceDataset(folder)
                stores[folder] = dataset, {uid: row for row, uid in enumerate(dataset.id)}
            dataset, rows = stores[folder]
            row = next((rows[uid] for uid in (path.stem, path.name) if uid in rows), None)
            if row is None:
                raise ConfigurationError(f"{path}: the store has no utterance '{path.stem}'")
            self.places.append((dataset, row))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, position: int) -> Utterance:  # type: ignore[override]
        """Return the utterance of a path."""
        dataset, row = self.places[position]
        return dataset[row]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the fingerprints of the stores and of the rows, hexadecimal; paths are not included."""
        stores = {id(dataset): dataset.fingerprint for dataset, _ in self.places}
        numbers = {key: number for number, key in enumerate(stores)}
        rows = np.array([(numbers[id(dataset)], row) for dataset, row in self.places], np.int64)
        return json_sha256([list(stores.values()), digest(rows)])

    def check(self, recipe: Recipe, given: Mapping[str, Any], settings: Settings, *, waveform: bool = True) -> None:
        """Check that every store has what a recipe needs; see `check_store`.

        Args:
            waveform: whether the recipe reads waveforms.

        Raises:
            ConfigurationError: a store has other settings, or no waveforms.
        """
        for dataset in {id(dataset): dataset for dataset, _ in self.places}.values():
            check_store(recipe, dataset.metadata, dataset.path, given, settings)
            if waveform and not dataset.has_waveform:
                raise ConfigurationError(
                    f"{dataset.path}: the store has no waveforms; prepare it with --waveform int16"
                )


def read_list(path: str | Path) -> list[list[str]]:
    """Return the fields of each line of a file list, separated by ``|``. Empty lines are skipped.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    return [fields for _, fields in read_numbered_list(path)]


def read_numbered_list(path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the number, from 1, and the fields of each line of a file list; see `read_list`.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    lines = enumerate(read_lines(path, "a file list"), 1)
    return [(number, line.strip().split("|")) for number, line in lines if line.strip()]


def read_npy(path: Path, what: str) -> npt.NDArray[Any]:
    """Return the array of a .npy file.

    Args:
        path: the path of the file.
        what: what the file has, for the error message.

    Raises:
        ConfigurationError: the file cannot be read, or has no single array.
    """
    try:
        found = np.load(path, allow_pickle=False)
    # An empty file is an EOFError.
    except (OSError, ValueError, EOFError) as error:
        raise ConfigurationError(f"{path}: cannot be read as {what} ({error})") from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise ConfigurationError(f"{path}: cannot be read as {what} (expected one array, found an archive of arrays)")
    return found


def read_lines(path: str | Path, what: str) -> list[str]:
    """Return the lines of a UTF-8 file without their ends and without a byte order mark.

    Lines end as those of Python's text files do (LF, CRLF or CR), and not at other line separators of Unicode, which
    texts may contain.

    Args:
        path: the path of the file.
        what: what the file has, for the error message.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        text = read_regular(Path(path), _MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read as {what} ({error})") from error
    return text.removesuffix("\n").split("\n") if text else []
