"""Parakeet's loader of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tts_prep.loader.dataloader import DataIterator, DataLoader


class DataCargo(DataLoader[Any]):
    """A `DataLoader` with the name and argument order of Parakeet's older API.

    Calling it returns an iterator over one epoch, as in Parakeet.

    Args:
        dataset: an object with ``__len__`` and ``__getitem__``.
        batch_fn: makes a batch of a list of examples; defaults to `collate`.
        batch_size: examples per batch.
        sampler: an iterable of positions.
        shuffle: visit examples in a new random order every epoch.
        batch_sampler: an iterable of lists of positions, instead of `batch_size`, `sampler`, `shuffle` and `drop_last`.
        drop_last: drop the last batch if it is smaller.
        seed: the seed of `shuffle`.
        prefetch: the number of batches made in advance, see `DataLoader`.

    Raises:
        ConfigurationError: settings exclude each other or are out of range.
        SamplingError: the dataset is empty, or the sampler was made for another number of examples.
    """

    def __init__(
        self,
        dataset: Any,
        batch_fn: Callable[[Any], Any] | None = None,
        batch_size: int = 1,
        sampler: Iterable[int] | None = None,
        shuffle: bool = False,
        batch_sampler: Iterable[Any] | None = None,
        drop_last: bool = False,
        *,
        seed: int = 0,
        prefetch: int = 2,
    ) -> None:
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            seed=seed,
            drop_last=drop_last,
            collate_fn=batch_fn,
            prefetch=prefetch,
        )

    def __call__(self) -> DataIterator[Any]:
        """Return an iterator over one epoch."""
        return iter(self)
