"""Batches of a dataset, made ahead of time in the background."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, overload

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.batching.batch import Batch
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.collate import Collator, collate
from tts_prep.loader.batching.fields import BatchFields
from tts_prep.loader.batching.segments import SegmentCollator
from tts_prep.loader.batching.tensors import PinnedBuffers, import_torch, to_tensors
from tts_prep.loader.dataset.composition import fingerprint_of
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.prefetch.making_ahead import made_ahead
from tts_prep.loader.prefetch.reading_ahead import ReadingAhead
from tts_prep.loader.randomness import check_seed
from tts_prep.loader.samplers.base import BatchSampler, RandomSampler, Sampler, SequentialSampler
from tts_prep.loader.samplers.ranks import Rank, process_group
from tts_prep.loader.samplers.shapes import BatchShape, carry

BatchT = TypeVar("BatchT")


class DataIterator(Iterator[BatchT]):
    """One epoch of a `DataLoader`: batches, once. Closing it ends the thread; so does dropping it."""

    def __init__(self, batches: Iterator[BatchT], loader: Sized) -> None:
        self._batches = batches
        self._loader = loader

    def __len__(self) -> int:
        """Return the number of batches of the epoch, whether or not some of them have been taken."""
        return len(self._loader)

    def __next__(self) -> BatchT:
        return next(self._batches)

    def close(self) -> None:
        """End the iteration and its thread."""
        if isinstance(self._batches, Generator):
            self._batches.close()


class DataLoader(Generic[BatchT]):
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
        recycle: recycle a batch's memory once no array or tensor refers to it any more.
        rank: of the shuffled or sequential order that this makes; ``"auto"`` takes it from ``torch.distributed``. A
            sampler has its own.
        world_size: likewise.
        replicate: give the same batches to every rank. Without it, iterating is an error where a process group of
            ``torch.distributed`` runs and nothing shares the batches among its ranks.

    Raises:
        ConfigurationError: settings exclude each other or are out of range, or torch is asked for and not there.
        SamplingError: the dataset is empty, or the sampler was made for another number of utterances.
    """

    @overload
    def __init__(
        self: DataLoader[Batch],
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        seed: int = 0,
        drop_last: bool = False,
        collate_fn: None = None,
        prefetch: int = 2,
        threads: int = 1,
        output: Literal["numpy", "torch"] = "numpy",
        pin_memory: bool = False,
        recycle: bool = True,
        rank: Rank = 0,
        world_size: int = 1,
        replicate: bool = False,
    ) -> None: ...
    @overload
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
        collate_fn: Callable[[Any], BatchT] | None,
        prefetch: int = 2,
        threads: int = 1,
        output: Literal["numpy", "torch"] = "numpy",
        pin_memory: bool = False,
        recycle: bool = True,
        rank: Rank = 0,
        world_size: int = 1,
        replicate: bool = False,
    ) -> None: ...
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
        rank: Rank = 0,
        world_size: int = 1,
        replicate: bool = False,
    ) -> None:
        shares = rank != 0 or world_size != 1
        if shares and (sampler is not None or batch_sampler is not None):
            raise ConfigurationError("DataLoader: give rank and world_size to the sampler")
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
                if shuffle:
                    sampler = RandomSampler(dataset, seed=check_seed(seed), rank=rank, world_size=world_size)
                else:
                    sampler = SequentialSampler(dataset, rank=rank, world_size=world_size)
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if isinstance(batch_sampler, Sampler) and batch_sampler.size not in (None, len(dataset)):
            raise SamplingError(
                f"the sampler was made for {batch_sampler.size:,} utterances, the dataset has {len(dataset):,}; "
                "make it from this very dataset"
            )
        self.dataset = dataset
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn
        self._replicate = replicate
        shapes = getattr(batch_sampler, "shapes", ())
        self._collate = _prepare_collate(collate_fn, output, shapes, pin_memory=pin_memory, recycle=recycle)
        self._listeners: tuple[Any, ...] = (dataset, collate_fn)
        self._prefetch = prefetch
        if threads < 1:
            raise ConfigurationError(f"threads: expected a number from 1 on, found {threads}")
        self._threads = threads
        # What is known to bear several threads, or said to.
        own = collate_fn in (None, collate) or isinstance(collate_fn, Collator | SegmentCollator)
        self._helped = threads > 1 or (own and type(dataset) is UtteranceDataset)
        self._taken = 0

    def __len__(self) -> int:
        """Return the number of batches of the running epoch, however many of them have been taken.

        Once all of them have been taken, it is that of the next one: training loops ask between two epochs.
        """
        sampler = self.batch_sampler
        if isinstance(sampler, Sampler) and self._taken and sampler.begun and sampler.ends_after(self._taken):
            return sampler.count(sampler.epoch + 1)
        if not isinstance(self.batch_sampler, Sized):
            raise TypeError("this DataLoader's batch sampler has no length")
        return len(self.batch_sampler)

    @property
    def sampler(self) -> Any:
        """The batch sampler: training loops call its ``set_epoch``."""
        return self.batch_sampler

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
        return fingerprint_of(self.dataset)

    def _resumable(self) -> Sampler[Any]:
        if not isinstance(self.batch_sampler, Sampler):
            raise ConfigurationError(f"the batch sampler, a {type(self.batch_sampler).__name__}, has no state")
        return self.batch_sampler

    def __iter__(self) -> DataIterator[BatchT]:
        """Return one epoch, which can be iterated over once.

        Raises:
            ConfigurationError: a process group runs, and every rank would get the same batches.
        """
        self._check_shared()
        return DataIterator(self._counted(), self)

    def _check_shared(self) -> None:
        group = process_group()
        if group is None or self._replicate or group[1] == 1:
            return
        own = getattr(self.batch_sampler, "world_size", 1)
        if own == 1:
            raise ConfigurationError(
                f"torch.distributed runs {group[1]} ranks, and each would get the same batches; give rank='auto' to "
                "the sampler (or to DataLoader, where it makes one), or replicate=True if that is meant"
            )

    def _counted(self) -> Iterator[Any]:
        self._taken = 0
        for batch in self._batches():
            self._taken += 1
            yield batch
            # Lets its memory be recycled for the next one.
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
        try:
            if hasattr(self.dataset, "__getitems__"):
                return self._collate(self.dataset.__getitems__(positions))
            return self._collate(carry((self.dataset[position] for position in positions), positions))
        except StopIteration as error:
            # It would end the epoch without a word.
            raise RuntimeError("the dataset or the collate function raised StopIteration") from error


class DataCargo(DataLoader[Any]):
    """A `DataLoader` by the name and the order of arguments that Parakeet's older API has.

    Calling it gives an iterator over one epoch, as Parakeet's does.

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

    def __call__(self) -> DataIterator[Any]:
        """Return one epoch, which can be iterated over once."""
        return iter(self)


def _prepare_collate(
    collate_fn: Callable[[Any], Any] | None,
    output: str,
    shapes: tuple[BatchShape, ...],
    *,
    pin_memory: bool,
    recycle: bool,
) -> Callable[[Any], Any]:
    """Return what makes a batch in the form that is asked for."""
    if output not in ("numpy", "torch"):
        raise ConfigurationError(f"output: expected 'numpy' or 'torch', found {output!r}")
    if pin_memory and output != "torch":
        raise ConfigurationError("pin_memory: only for output='torch'")
    own = Collator() if collate_fn in (None, collate) else collate_fn
    if isinstance(own, Collator):
        if own.buffers is None and (pin_memory or recycle):
            own = replace(own, buffers=PinnedBuffers() if pin_memory else RecycledBuffers())
        if not own.shapes:
            own = replace(own, shapes=shapes)
    elif pin_memory:
        raise ConfigurationError("pin_memory: only for our own collate; a collate_fn can pin its tensors itself")
    if output == "numpy":
        return own
    import_torch()
    return ThenTensors(own)


class ThenTensors:
    """A collate function, with tensors in the place of the arrays that it gives."""

    def __init__(self, collate_fn: Callable[[Any], Any]) -> None:
        self._collate = collate_fn

    def __call__(self, examples: Any) -> Any:
        """Return the batch with tensors."""
        batch = self._collate(examples)
        return batch.torch() if isinstance(batch, BatchFields) else to_tensors(batch)
