"""The stores that a recipe reads: one, a selection of one, or a chain of several; and random examples of them."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from tts_prep.batches.composition import DatasetMixin
from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.batches.wrappers import ChainDataset
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batch_info import info_of, with_info_of
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.loader.dataset.selection import Positions, select_rows
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset


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
