"""Batches of a dataset, made ahead of time in the background."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.collate import Batch, Collator, collate
from tts_prep.loader.batching.tensors import PinnedBuffers, import_torch, to_tensors
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.prefetch.making_ahead import made_ahead
from tts_prep.loader.prefetch.reading_ahead import ReadingAhead
from tts_prep.loader.randomness import check_seed
from tts_prep.loader.samplers.base import BatchSampler, RandomSampler, Sampler, SequentialSampler


class DataIterator(Iterator[Any]):
    """One epoch of a `DataLoader`: batches, once. Closing it ends the thread; so does dropping it."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches

    def __next__(self) -> Any:
        return next(self._batches)

    def close(self) -> None:
        """End the iteration and its thread."""
        if isinstance(self._batches, Generator):
            self._batches.close()


class DataLoader:
    """Iterate over a dataset in batches; each iteration is one epoch.

    The batches are those of the batch sampler, in its order. A thread makes the coming ones while the caller works on
    one, and where the caller is faster, both make some. It ends with the iteration, also when that ends early or with
    an exception, and an exception in it is raised where the batch would have come.

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
        threads: that make them. More than one is for datasets and collate functions that are ready for it, as
            `UtteranceDataset` and `collate` are, and pays where making a batch is more than copying. With those two,
            or with several threads, the caller's own thread makes a batch too whenever it would only wait.
        output: ``"numpy"`` arrays, or ``"torch"`` tensors on the same memory.
        pin_memory: for ``"torch"``: make batches in page-locked memory, from which a CUDA device copies by itself.
        recycle: use a batch's memory again after the last array or tensor that shows any of it is gone.

    Raises:
        ConfigurationError: settings exclude each other or are out of range, or torch is asked for and not there.
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
        threads: int = 1,
        output: Literal["numpy", "torch"] = "numpy",
        pin_memory: bool = False,
        recycle: bool = True,
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
        self._collate = _prepare_collate(collate_fn, output, pin_memory=pin_memory, recycle=recycle)
        self._listeners: tuple[Any, ...] = (dataset, collate_fn)
        self._prefetch = prefetch
        if threads < 1:
            raise ConfigurationError(f"threads: expected a number from 1 on, found {threads}")
        self._threads = threads
        # What is known to bear several threads, or said to.
        own = collate_fn in (None, collate) or isinstance(collate_fn, Collator)
        self._helped = threads > 1 or (own and type(dataset) is UtteranceDataset)
        self._taken = 0

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

    def state_dict(self) -> dict[str, Any]:
        """Return where training stands, as plain numbers and strings: every batch that was taken counts as done."""
        sampler = self._resumable()
        taken = self._taken if sampler.begun else 0
        return {"dataset": self._dataset_fingerprint, "sampler": sampler.state_dict(taken)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, in the middle of its epoch.

        Raises:
            ConfigurationError: it is no state, or one of another dataset or sampler.
        """
        if not isinstance(state, Mapping) or not {"dataset", "sampler"} <= set(state):
            raise ConfigurationError("load_state_dict: expected what state_dict gave, found something else")
        if state["dataset"] != self._dataset_fingerprint:
            raise ConfigurationError(
                "load_state_dict: the state is of another dataset, or another selection or order of its utterances"
            )
        self._resumable().load_state_dict(state["sampler"])
        self._taken = 0

    @cached_property
    def _dataset_fingerprint(self) -> str:
        return str(getattr(self.dataset, "fingerprint", "") or f"{len(self.dataset)} examples")

    def _resumable(self) -> Sampler[Any]:
        if not isinstance(self.batch_sampler, Sampler):
            raise ConfigurationError(f"the batch sampler, a {type(self.batch_sampler).__name__}, has no state")
        return self.batch_sampler

    def __iter__(self) -> DataIterator:
        """Return one epoch, which can be iterated over once."""
        return DataIterator(self._counted())

    def _counted(self) -> Iterator[Any]:
        self._taken = 0
        for batch in self._batches():
            self._taken += 1
            yield batch
            # Or its memory could not be used again for the next one.
            del batch

    def _batches(self) -> Iterator[Any]:
        batches = self._told(iter(self.batch_sampler))
        if not self._prefetch:
            return map(self._make, batches)
        make: Callable[[Any], Any] = self._make
        if isinstance(self.dataset, UtteranceDataset):
            reading = ReadingAhead(make, self.dataset.read_ahead)
            make, batches = reading.make, reading.tasks(batches)
        return made_ahead(make, batches, self._prefetch, self._threads, helped=self._helped)

    def _told(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Tell the epoch, once it is known, to a dataset or a collate function that draws something by it."""
        for number, positions in enumerate(batches):
            if number == 0 and isinstance(self.batch_sampler, Sampler):
                for listener in self._listeners:
                    # Asked of the class: a dataset may have a column of any name.
                    if hasattr(type(listener), "set_epoch"):
                        listener.set_epoch(self.batch_sampler.epoch)
            yield positions

    def _make(self, positions: Any) -> Any:
        if hasattr(self.dataset, "__getitems__"):
            return self._collate(self.dataset.__getitems__(positions))
        return self._collate([self.dataset[position] for position in positions])


class DataCargo(DataLoader):
    """A `DataLoader` by the name and the order of arguments that Parakeet's older API has.

    Args:
        dataset: anything with ``__len__`` and ``__getitem__``.
        batch_fn: from the list of a batch's examples to the batch; `collate` by default.
        batch_size: examples a batch.
        sampler: of positions.
        shuffle: visit them in random order.
        batch_sampler: of lists of positions, in place of `batch_size`, `sampler`, `shuffle` and `drop_last`.
        drop_last: leave out a last batch that is smaller.
        seed: for `shuffle`.
        prefetch: batches made ahead, see `DataLoader`.

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


def _prepare_collate(
    collate_fn: Callable[[Any], Any] | None, output: str, *, pin_memory: bool, recycle: bool
) -> Callable[[Any], Any]:
    """Return what makes a batch in the form that is asked for."""
    if output not in ("numpy", "torch"):
        raise ConfigurationError(f"output: expected 'numpy' or 'torch', found {output!r}")
    if pin_memory and output != "torch":
        raise ConfigurationError("pin_memory: only for output='torch'")
    own = Collator() if collate_fn in (None, collate) else collate_fn
    if not isinstance(own, Collator):
        if pin_memory:
            raise ConfigurationError("pin_memory: only for our own collate; a collate_fn can pin its tensors itself")
        return own if output == "numpy" else _then_tensors(own)
    if own.buffers is None and (pin_memory or recycle):
        own = replace(own, buffers=PinnedBuffers() if pin_memory else RecycledBuffers())
    if output == "numpy":
        return own
    import_torch()
    return _then_tensors(own)


def _then_tensors(collate_fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def collated(utterances: Any) -> Any:
        batch = collate_fn(utterances)
        return batch.torch() if isinstance(batch, Batch) else to_tensors(batch)

    return collated
