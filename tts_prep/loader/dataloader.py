"""Batches of a dataset, made ahead of time in the background."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.collate import collate
from tts_prep.loader.randomness import check_seed
from tts_prep.loader.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler


class DataLoader:
    """Iterate over a dataset in batches; each iteration is one epoch.

    The batches are those of the batch sampler, in its order. A thread makes the coming ones while the caller works on
    one; it ends with the iteration, also when that ends early or with an exception, and an exception in it is raised
    where the batch would have come.

    Args:
        dataset: anything with ``__len__`` and ``__getitem__``, or ``__getitems__`` for many at once.
        batch_size: utterances a batch.
        shuffle: visit them in random order, another one every epoch.
        sampler: of positions, in place of `shuffle`.
        batch_sampler: of lists of positions, in place of `batch_size`, `shuffle`, `sampler`, `seed` and `drop_last`.
        seed: for `shuffle`.
        drop_last: leave out a last batch that is smaller.
        collate_fn: from the utterances of a batch to the batch; `collate` by default.
        prefetch: batches made ahead; 0 makes each one when it is asked for, without a thread.

    Raises:
        ConfigurationError: settings exclude each other or are out of range.
        SamplingError: the dataset is empty, or the sampler was made for another number of utterances.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        seed: int = 0,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        prefetch: int = 2,
    ) -> None:
        if batch_sampler is not None:
            settings = {
                "batch_size": batch_size != 1,
                "shuffle": shuffle,
                "sampler": sampler is not None,
                "seed": seed != 0,
                "drop_last": drop_last,
            }
            if excluded := [name for name, given in settings.items() if given]:
                raise ConfigurationError(f"DataLoader: batch_sampler already decides on {', '.join(excluded)}")
        if sampler is not None and shuffle:
            raise ConfigurationError("DataLoader: a sampler already decides on the order, so shuffle cannot be given")
        if prefetch < 0:
            raise ConfigurationError(f"prefetch: expected a number from 0 on, found {prefetch}")
        if not len(dataset):
            raise SamplingError("the dataset is empty; did a filter leave nothing?")
        if batch_sampler is None:
            if sampler is None:
                sampler = RandomSampler(dataset, seed=check_seed(seed)) if shuffle else SequentialSampler(dataset)
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if isinstance(batch_sampler, Sampler) and batch_sampler.size not in (None, len(dataset)):
            raise SamplingError(
                f"the sampler was made for {batch_sampler.size:,} utterances, the dataset has {len(dataset):,}; "
                "make it from this very dataset"
            )
        self.dataset = dataset
        self.batch_sampler = batch_sampler
        self._collate = collate if collate_fn is None else collate_fn
        self._prefetch = prefetch

    def __len__(self) -> int:
        """Return the number of batches of the current epoch."""
        if not isinstance(self.batch_sampler, Sized):
            raise TypeError("this DataLoader's batch sampler has no length")
        return len(self.batch_sampler)

    @property
    def epoch(self) -> int:
        """The epoch of the last iteration that gave a batch, or what `set_epoch` said since."""
        return int(self._epochs().epoch)

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch; without this, each is the one after the last."""
        self._epochs().set_epoch(epoch)

    def _epochs(self) -> Any:
        if not hasattr(self.batch_sampler, "set_epoch"):
            raise ConfigurationError(f"the batch sampler, a {type(self.batch_sampler).__name__}, has no epochs")
        return self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.batch_sampler)
        return self._made_ahead(batches) if self._prefetch else map(self._make, batches)

    def _make(self, positions: Any) -> Any:
        if hasattr(self.dataset, "__getitems__"):
            return self._collate(self.dataset.__getitems__(positions))
        return self._collate([self.dataset[position] for position in positions])

    def _made_ahead(self, batches: Iterator[Any]) -> Iterator[Any]:
        pool = ThreadPoolExecutor(1, "tts-prep-loader")
        try:
            coming: deque[Future[Any]] = deque(
                pool.submit(self._make, positions) for positions in islice(batches, self._prefetch)
            )
            while coming:
                batch = coming.popleft().result()
                coming.extend(pool.submit(self._make, positions) for positions in islice(batches, 1))
                yield batch
        finally:
            # Reached by a break and by an exception of the caller as well, since that closes this generator.
            pool.shutdown(wait=True, cancel_futures=True)
