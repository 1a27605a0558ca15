"""Utterances of stores by the paths that a system's file list has for its recordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset


class ListedUtterances(Sequence[Utterance]):
    """The utterances that paths name: ``STORE/ID.wav`` is the utterance ID of the store in the folder STORE.

    A system's file list is used as it is where its folder of recordings is the store, or a link to it. The ending does
    not matter.

    Args:
        paths: of recordings.

    Attributes:
        paths: the paths, as texts.
        places: for each one, its store and its row.

    Raises:
        ConfigurationError: there is no path, or a store has no utterance of that name.
        StoreError: a folder is not a store.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self.paths = [str(path) for path in paths]
        if not self.paths:
            raise ConfigurationError("the file list has no line")
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

    def check(self, **expected: int) -> None:
        """Make sure that every store has such values of its metadata, ``sample_rate=22050``.

        Raises:
            ConfigurationError: one has another.
        """
        for dataset in {id(dataset): dataset for dataset, _ in self.places}.values():
            for name, value in expected.items():
                found = getattr(dataset.metadata, name)
                if found != value:
                    raise ConfigurationError(f"{dataset.path}: expected {name} = {value}, found {found}")


def read_list(path: str | Path) -> list[list[str]]:
    """Return the fields of each line of a file list, which ``|`` divides; empty lines are skipped.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a file list ({error})") from error
    return [line.strip().split("|") for line in lines if line.strip()]
