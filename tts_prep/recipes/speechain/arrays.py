"""Where the arrays of a file of ``id place`` lines are: rows of stores, .npy and .npz files, Kaldi archives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.recipes.kaldi_files import (
    WAVEFORM,
    ark_path,
    parse_ark_entry,
    parse_store_entry,
    read_ark,
    read_table,
)


@dataclass(frozen=True)
class Place:
    """Where an array is.

    Attributes:
        path: of a store, or of a .npy, .npz or .ark file.
        row: of the store; −1 for a file.
        key: of an array in a .npz file.
        is_waveform: whether it is the waveform of the row, and not the mel.
        offset: in a .ark file; −1 for others.
    """

    path: str
    row: int = -1
    key: str = ""
    is_waveform: bool = False
    offset: int = -1


class ArrayPlaces:
    """Reads files of ``id place`` lines, and the arrays there."""

    def __init__(self) -> None:
        self._stores: dict[str, UtteranceDataset] = {}

    def read(self, paths: Sequence[str]) -> dict[str, Place]:
        """Read files into one table. Relative places are relative to the file.

        Raises:
            ConfigurationError: a place is of another kind, two files contradict each other, or the row of a store has
                another id.
        """
        table: dict[str, Place] = {}
        for path in paths:
            for uid, value in read_table(path).items():
                place = self._place(path, uid, value)
                if table.setdefault(uid, place) != place:
                    raise ConfigurationError(f"'{uid}' is in {path} and, with other data, in a file before it")
        return table

    def _place(self, path: str, uid: str, value: str) -> Place:
        base = Path(path).parent
        ark = parse_ark_entry(value)
        if ark is not None:
            return Place(str(ark_path(base, ark[0])), offset=ark[1])
        plain = value.removesuffix(WAVEFORM)
        entry = parse_store_entry(plain)
        file, _, key = value.rpartition(":") if ".npz:" in value else (value, "", "")
        if entry is not None and not file.endswith(".npz"):
            name, row = str(base / entry[0]), entry[1]
            store = self._store(name)
            if row >= len(store) or store.id[row] != uid:
                raise ConfigurationError(f"{path}: row {row} of {name} is not '{uid}'; export the store again")
            return Place(name, row, is_waveform=plain != value)
        if not file.endswith((".npy", ".npz")):
            raise ConfigurationError(
                f"{path}: '{uid}': expected STORE:ROW, STORE:ROW{WAVEFORM}, FILE.ark:OFFSET or a .npy or .npz file, "
                f"found '{value}'; "
                "recordings go into a store first: 'tts-prep export STORE FOLDER --to speechain' writes such files"
            )
        return Place(str(base / file), key=key or "feat")

    def _store(self, path: str) -> UtteranceDataset:
        if path not in self._stores:
            self._stores[path] = UtteranceDataset(path)
        return self._stores[path]

    def utterance(self, place: Place) -> Utterance:
        """Return the utterance of a place in a store.

        Raises:
            ConfigurationError: the place is a file.
        """
        if place.row < 0:
            raise ConfigurationError(f"{place.path}: pitch can only be read from a store")
        return self._store(place.path)[place.row]

    def load(self, place: Place) -> npt.NDArray[Any]:
        """Return the array of a place that is no waveform.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        if place.row >= 0:
            return self.utterance(place).mel
        if place.offset >= 0:
            return read_ark(place.path, place.offset)
        try:
            loaded = np.load(place.path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                array: npt.NDArray[Any] = loaded[place.key]
                return array
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(f"{place.path}: '{place.key}' cannot be read ({error})") from error
