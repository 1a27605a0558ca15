"""The stores that a recipe reads, random examples of them, and utterances by the recordings of a file list."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path, PurePath
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.batches.composition import DatasetMixin
from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.batches.wrappers import ChainDataset
from tts_prep.errors import ConfigurationError, one_line
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.paths import is_url, read_regular, without_secret
from tts_prep.loader.batch_info import info_of, with_info_of
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.selection import Positions, select_rows
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import digest
from tts_prep.quantities import count_text
from tts_prep.recipes.accepted import Lack, Recipe, Settings, as_read, check_store


def dataset_of(store: Any) -> Any:
    """Return the dataset of a store: itself, or that of the folder at a path.

    Args:
        store: a path, an `UtteranceDataset`, or a chain or a selection of such datasets.

    Raises:
        ConfigurationError: it is something else.
    """
    if isinstance(store, str | os.PathLike):
        return UtteranceDataset(store)
    if isinstance(store, UtteranceDataset):
        return store
    if not stores_of(store) or (len(store) and not isinstance(store[0], Utterance)):
        raise ConfigurationError(
            f"expected the path of a store, an UtteranceDataset or a ChainDataset of some, found a "
            f"{type(store).__name__}"
        )
    return store


def having(dataset: Any, array: str) -> Any:
    """Return the utterances of a dataset that have a value of an array; see `UtteranceDataset.having`."""
    if isinstance(dataset, UtteranceDataset):
        return dataset.having(array)
    if isinstance(dataset, ChainDataset):
        return ChainDataset(*(having(inner, array) for inner in dataset.datasets))
    columns = {store.arrays[array].failures for store in stores_of(dataset)} - {""}
    keep = [all(row.meta.get(column, "") == "" for column in columns) for row in dataset] if columns else slice(None)
    return dataset[keep]


def opened(dataset: Any) -> Iterator[UtteranceDataset]:
    """Yield the datasets of the stores of a dataset."""
    if isinstance(dataset, UtteranceDataset):
        yield dataset
        return
    for inner in dataset.datasets if isinstance(dataset, ChainDataset) else [dataset.dataset]:
        yield from opened(inner)


def ood_texts(dataset: Any) -> Iterator[Any]:
    """Yield the out-of-domain texts of the stores of a dataset."""
    for store in opened(dataset):
        yield from store.ood_texts or ()


class RandomExamples(DatasetMixin):
    """Base class of datasets whose examples depend on the epoch. Subclasses define ``_example`` and set ``_draws``."""

    _draws: EpochDraws

    @abstractmethod
    def _example(self, i: int, epoch: int | None) -> Any:
        """Return the example at a position in an epoch; None if the position carries no epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of positions that carry none, as those of other samplers than tts-prep's do not."""
        self._draws.set_epoch(epoch)

    def get_example(self, i: int) -> Any:
        """Return the example at a position."""
        return self._example(i, None)

    def __getitems__(self, positions: Positions) -> Any:
        """Return the examples at positions, for the epoch that the positions carry."""
        epoch = info_of(positions).epoch
        rows = select_rows(range(len(self)), positions)
        return with_info_of(positions, [self._example(int(row), epoch) for row in rows])


class LazyExamples(Sequence[Any]):
    """Examples of a batch, made when they are asked for.

    The collate function of a recipe asks for `arrays` instead, which are views of the store: tensors need memory of
    their own, which takes longer to get than to fill.
    """

    def __init__(self, dataset: "DirectExamples", rows: Sequence[int]) -> None:
        self._dataset, self._rows = dataset, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._dataset.get_example(self._rows[place])

    def arrays(self) -> list[Any]:
        """Return what each example is made from."""
        return [self._dataset._arrays(row) for row in self._rows]


def arrays_of(examples: Sequence[Any]) -> list[Any]:
    """Return what examples are made from, or the examples themselves."""
    return examples.arrays() if isinstance(examples, LazyExamples) else list(examples)


class DirectExamples(DatasetMixin):
    """Base class of datasets whose batches are made from arrays."""

    @abstractmethod
    def _arrays(self, i: int) -> Any:
        """Return what the example at a position is made from."""

    def __getitems__(self, positions: Positions) -> LazyExamples:
        """Return the examples at positions."""
        return LazyExamples(self, [int(row) for row in select_rows(range(len(self)), positions)])


_MAX_BYTES: Final = 1 << 28

Lacks: TypeAlias = "Callable[[UtteranceDataset], Iterable[Lack]]"


def no_lacks(dataset: UtteranceDataset) -> Iterable[Lack]:  # noqa: ARG001
    """Return nothing that a store lacks besides what its recipe says."""
    return ()


Missing = Literal["error", "leave_out"]
"""What becomes of the lines of a file list whose utterances are not in the store."""


class ListedUtterances(Sequence[Utterance]):
    """Utterances by path: ``STORE/ID.wav`` is the utterance ID of the store in the folder STORE.

    A system's file list works unchanged if its folder of recordings is the store, or a link to it. The file extension
    is ignored.

    Args:
        paths: paths of recordings.
        missing: ``"leave_out"`` leaves out lines whose utterances are not in the store, because they failed when it
            was made or are of another corpus; ``"error"`` raises.

    Attributes:
        paths: the paths, as strings.
        places: the store and the row of each path.
        kept: the position of each path among those given.
        left_out: the paths that were left out.

    Raises:
        ConfigurationError: there are no paths, a folder is a URL, or a store has no utterance of some names; the
            message says how many, and why.
        StoreError: a folder is not a store.
    """

    def __init__(self, paths: Iterable[str | Path], missing: Missing = "error") -> None:
        if missing not in ("error", "leave_out"):
            raise ConfigurationError(f"missing: expected 'error' or 'leave_out', found {missing!r}")
        given = [str(path) for path in paths]
        if not given:
            raise ConfigurationError("the file list is empty")
        stores: dict[PurePath, tuple[UtteranceDataset, dict[str, int]]] = {}
        self.paths: list[str] = []
        self.places: list[tuple[UtteranceDataset, int]] = []
        self.kept: list[int] = []
        absent: dict[UtteranceDataset, list[PurePath]] = {}
        for number, path in enumerate(map(PurePath, map(_local, given))):
            folder = path.parent
            if folder not in stores:
                dataset = UtteranceDataset(folder)
                stores[folder] = dataset, {uid: row for row, uid in enumerate(dataset.id)}
            dataset, rows = stores[folder]
            row = next((rows[uid] for uid in (path.stem, path.name) if uid in rows), None)
            if row is None:
                absent.setdefault(dataset, []).append(path)
                continue
            self.paths.append(given[number])
            self.places.append((dataset, row))
            self.kept.append(number)
        self.left_out = [str(path) for of_store in absent.values() for path in of_store]
        if absent and (missing == "error" or not self.places):
            raise ConfigurationError("; ".join(absence(dataset, names) for dataset, names in absent.items()))

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

    @property
    def stores(self) -> list[UtteranceDataset]:
        """The stores, each once, in the order of their first path."""
        return list({id(dataset): dataset for dataset, _ in self.places}.values())

    def check(self, recipe: Recipe, given: Mapping[str, Any], settings: Settings, *, lacks: Lacks = no_lacks) -> None:
        """Check that every store has what a recipe needs; see `check_store`.

        Args:
            lacks: returns what a store lacks besides.

        Raises:
            ConfigurationError: a store has other settings, or lacks an array; or two have other ids.
        """
        for dataset in self.stores:
            check_store(recipe, dataset.metadata, given, settings, lacks=lacks(dataset))
        first, *others = self.stores
        for other in others if recipe.symbols is not None else ():
            if other.symbols != first.symbols:
                raise ConfigurationError(
                    f"{first.path} and {other.path} cannot be mixed: their vocabularies of {len(first.symbols)} and "
                    f"{len(other.symbols)} symbols differ"
                )


class ListedExamples(DatasetMixin):
    """Base class of datasets with an example of each utterance of a file list, which subclasses set."""

    utterances: ListedUtterances
    _has_ids: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.utterances)

    def _bases(self) -> Sequence[Any]:
        return (self.utterances,)

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores, without speakers, and without vocabularies if examples have no ids."""
        return as_read((store.metadata for store in self.utterances.stores), ids=self._has_ids)


class StoreExamples(DatasetMixin):
    """Base class of datasets with an example of each utterance of a store, or of a chain of some."""

    store: Any

    def __len__(self) -> int:
        return len(self.store)

    def _bases(self) -> Sequence[Any]:
        return (self.store,)

    def _over(self, change: Callable[[Any], Any]) -> DatasetMixin:
        dataset = copy(self)
        dataset.store = change(self.store)
        return dataset


def _local(path: str) -> str:
    """Return a path that is none of a store behind a URL.

    Raises:
        ConfigurationError: it is.
    """
    if is_url(path):
        folder = without_secret(path.rpartition("/")[0])
        raise ConfigurationError(
            f"{folder}: a file list needs the store in a folder; run: tts-prep fetch {folder} FOLDER, and put "
            "FOLDER in place of the URL"
        )
    return path


def absence(dataset: Any, paths: Sequence[PurePath]) -> str:
    """Return how many utterances of a file list a store does not have, or those of a chain, and why."""
    names = [path.stem for path in paths]
    reasons = {failure.id: failure for store in opened(dataset) for failure in store.failures}
    failed = [reasons[name] for name in names if name in reasons]
    unknown = [name for name in names if name not in reasons]
    parts = []
    if failed:
        first = one_line(f"'{failed[0].id}' ({failed[0].stage}: {failed[0].reason})", 300)
        parts.append(f"{len(failed):,} failed when it was made, as failures.jsonl says, such as {first}")
    if unknown:
        parts.append(f"{len(unknown):,} {'is' if len(unknown) == 1 else 'are'} unknown to it, such as '{unknown[0]}'")
    where = ", ".join(str(store.path) for store in opened(dataset))
    return (
        f"{where}: the store has no utterance for {count_text(len(names), 'line')} of the file list: "
        f'{", ".join(parts)}; take the lines out, or pass missing="leave_out"'
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
