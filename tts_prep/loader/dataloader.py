"""Iterate over a dataset in batches, prefetched in the background."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, ExactlyOnceWarning, SamplingError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batch_info import BatchShape, with_info_of
from tts_prep.loader.batching.batch import Batch, BatchFields, OwnCollator, TensorsT, TorchBatch
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.collate import Collator, collate
from tts_prep.loader.batching.tensors import PinnedBuffers, import_torch, to_tensors
from tts_prep.loader.dataset.identity import fingerprint_of, stores_of
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.prefetch import READ_AHEAD, ReadingAhead, made_ahead
from tts_prep.loader.samplers.base import Sampler, gives_batches, iterate_epoch
from tts_prep.loader.samplers.ranks import Rank, is_sharded, process_group

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class _Options(TypedDict, total=False):
        """The options of `DataLoader` that do not affect the type of its batches."""

        sampler: Iterable[int] | None
        batch_sampler: Iterable[Any] | None
        seed: int
        drop_last: bool
        prefetch: int
        threads: int
        pin_memory: bool
        recycle: bool
        rank: Rank
        world_size: int
        replicate: bool
        num_workers: int


BatchT = TypeVar("BatchT")


class DataIterator(Iterator[BatchT]):
    """An iterator over one epoch of a `DataLoader`. Closing or deleting it ends its threads."""

    def __init__(self, batches: Iterator[BatchT], loader: Sized) -> None:
        self._batches = batches
        self._loader = loader

    def __len__(self) -> int:
        """Return the number of batches of the epoch, including those already consumed."""
        return len(self._loader)

    def __next__(self) -> BatchT:
        return next(self._batches)

    def close(self) -> None:
        """End the iteration and its threads."""
        if isinstance(self._batches, Generator):
            self._batches.close()


class DataLoader(Generic[BatchT]):
    """Iterate over a dataset in batches; each iteration is one epoch.

    Batches come in the order of the batch sampler. A thread makes the next batches while the caller uses one; if the
    caller has to wait, its own thread makes batches too. The thread ends with the iteration, also after a break or an
    exception. An exception in the thread is raised in the place of its batch.

    Example:
        >>> from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset
        >>> dataset = UtteranceDataset("store")
        >>> sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=200, seed=0)
        >>> loader = DataLoader(dataset, batch_sampler=sampler)
        >>> loader
        <DataLoader: 8 examples, LengthBucketBatchSampler>
        >>> for epoch in range(2):
        ...     for batch in loader:
        ...         assert batch.mel.shape[0] * batch.mel.shape[1] <= 200
        >>> state = loader.state_dict()  # in a checkpoint; continue by loader.load_state_dict(state)

    Args:
        dataset: an object with ``__len__`` and ``__getitem__``, or ``__getitems__`` for several positions.
        batch_size: utterances per batch.
        shuffle: visit utterances in a new random order every epoch.
        sampler: an iterable of positions, instead of `shuffle`.
        batch_sampler: an iterable of lists of positions, instead of `batch_size`, `shuffle`, `sampler`, `seed` and
            `drop_last`.
        seed: the seed of `shuffle`.
        drop_last: drop the last batch if it is smaller.
        collate_fn: makes a batch of a list of utterances; defaults to `collate`.
        prefetch: the number of batches made in advance; 0 makes each batch on request, without a thread.
        threads: the number of threads that make batches. More than one requires a thread-safe dataset and collate
            function, such as `UtteranceDataset` and `collate`, and is useful if making a batch is more than copying.
            With those two, or with several threads, the caller's thread makes batches too while it would wait.
        output: ``"numpy"`` arrays, or ``"torch"`` tensors that share their memory.
        pin_memory: with ``"torch"``, make batches in page-locked memory, for asynchronous copies to a CUDA device.
        recycle: recycle the memory of a batch once unreferenced.
        rank: the rank of this process, if this object creates the sampler; ``"auto"`` takes it from
            ``torch.distributed``. Pass the rank to your own sampler otherwise.
        world_size: the number of ranks, if this object creates the sampler.
        num_workers: only 0, for scripts written for torch: batches are made in threads.
        replicate: give the same batches to every rank. Without it, iterating raises if a process group of
            ``torch.distributed`` is running and nothing shards the batches.

    Raises:
        ConfigurationError: settings exclude each other or are out of range.
        MissingPackageError: torch tensors are requested, and torch is not installed.
        SamplingError: the dataset is empty, the sampler was made for another number of utterances, or, on iteration, it
            is an exhausted iterator.
    """

    @overload
    def __init__(
        self: DataLoader[Batch],
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: None = None,
        output: Literal["numpy"] = "numpy",
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[Any], BatchT] | None,
        output: Literal["numpy"] = "numpy",
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[TorchBatch],
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Collator | None = None,
        output: Literal["torch"],
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[TensorsT],
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[Any], BatchFields[TensorsT]],
        output: Literal["torch"],
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Any],
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[Any], Any] | None = None,
        output: Literal["torch"],
        **options: Unpack[_Options],
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
        num_workers: int = 0,
    ) -> None:
        _check_threads(num_workers, prefetch, threads)
        if batch_sampler is not None:
            others = {
                "batch_size": batch_size != 1,
                "shuffle": shuffle,
                "sampler": sampler is not None,
                "seed": seed != 0,
                "drop_last": drop_last,
            }
            _check_alone(others)
        _check_samplers(sampler, batch_sampler, shuffle=shuffle, shares=rank != 0 or world_size != 1)
        _check_dataset(dataset)
        if batch_sampler is None:
            from tts_prep.loader.samplers.positions import own_batches

            batch_sampler = own_batches(dataset, sampler, batch_size, drop_last, shuffle, seed, rank, world_size)
        _check_size(batch_sampler, dataset)
        _check_stores(dataset, collate_fn)
        self.dataset = dataset
        self.batch_sampler = batch_sampler
        self._replicate = replicate
        shapes = getattr(batch_sampler, "shapes", ())
        self._collate = _prepare_collate(collate_fn, output, shapes, pin_memory=pin_memory, recycle=recycle)
        self._listeners: tuple[Any, ...] = (dataset, collate_fn)
        self._prefetch = prefetch
        self._threads = threads
        # The caller's thread helps only if dataset and collate function are thread-safe.
        own = collate_fn in (None, collate) or isinstance(collate_fn, OwnCollator)
        self._helped = threads > 1 or (own and type(dataset) is UtteranceDataset)
        self._taken = 0
        # The numbers of batches that were asked for, in any epoch.
        self._told: set[int] = set()
        self._warned = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.dataset):,} examples, {type(self.batch_sampler).__name__}>"

    def __len__(self) -> int:
        """Return the number of batches of the current epoch, including those already consumed.

        After the last batch, return the number of the next epoch: training loops ask between epochs.
        """
        sampler = self.batch_sampler
        if isinstance(sampler, Sampler) and self._taken and sampler._begun and sampler._ends_after(self._taken):
            count = sampler.count(sampler.epoch + 1)
        elif isinstance(sampler, Sized):
            count = len(sampler)
        else:
            raise TypeError("this DataLoader's batch sampler has no length")
        self._told.add(count)
        return count

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """The function that makes a batch of a list of utterances, with the requested output.

        ``accelerate.skip_first_batches``, by which the Trainer of Hugging Face resumes, makes a loader of torch with
        it.
        """
        return self._collate

    @property
    def num_workers(self) -> int:
        """0: batches are made in threads."""
        return 0

    @property
    def prefetch_factor(self) -> None:
        """None, as torch's DataLoader without workers requires it."""
        return

    @property
    def sampler(self) -> Any:
        """The batch sampler: training loops call ``loader.sampler.set_epoch``."""
        return self.batch_sampler

    @property
    def epoch(self) -> int:
        """The epoch of the last iteration that yielded a batch, or the one set by `set_epoch` since."""
        return int(self._epochs().epoch)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; without it, epochs are numbered consecutively."""
        self._epochs().set_epoch(epoch)

    def _epochs(self) -> Any:
        if not hasattr(self.batch_sampler, "set_epoch"):
            raise ConfigurationError(f"the batch sampler, a {type(self.batch_sampler).__name__}, has no epochs")
        return self.batch_sampler

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, as plain numbers and strings. Every consumed batch counts as done."""
        sampler = self._resumable()
        taken = self._taken if sampler._begun else 0
        return {"dataset": self._dataset_fingerprint, "of": repr(self.dataset), "sampler": sampler.state_dict(taken)}

    def load_state_dict(self, state: Mapping[str, Any], *, other_dataset: bool = False) -> None:
        """Resume from a state, within its epoch.

        Args:
            other_dataset: with another dataset, such as one that has grown, begin the state's epoch anew instead.

        Raises:
            ConfigurationError: the state is malformed, or belongs to another dataset or sampler.
        """
        if not isinstance(state, Mapping) or not {"dataset", "sampler"} <= set(state):
            raise ConfigurationError("load_state_dict: expected the result of state_dict(), found something else")
        if state["dataset"] != self._dataset_fingerprint and other_dataset:
            self.set_epoch(state["sampler"]["epoch"])
            self._taken = 0
            return
        if state["dataset"] != self._dataset_fingerprint:
            names = ", ".join(name for listener in self._listeners for name in _settings_of(listener))
            raise ConfigurationError(
                "load_state_dict: the state is of another dataset, or another selection or order of its utterances"
                + (f", or of other settings ({names}); create both as in the saved run" if names else "")
                + f": {state.get('of', '?')} there, {self.dataset!r} here; other_dataset=True begins its epoch anew"
            )
        self._resumable().load_state_dict(state["sampler"])
        self._taken = 0

    @cached_property
    def _dataset_fingerprint(self) -> str:
        found = fingerprint_of(self.dataset)
        drawn = _settings_of(self._listeners[1])
        return json_sha256([found, drawn]) if drawn else found

    def _resumable(self) -> Sampler[Any]:
        if not isinstance(self.batch_sampler, Sampler):
            raise ConfigurationError(f"the batch sampler, a {type(self.batch_sampler).__name__}, has no state")
        return self.batch_sampler

    def __iter__(self) -> DataIterator[BatchT]:
        """Return an iterator over one epoch.

        Raises:
            ConfigurationError: a process group is running, and every rank would get the same batches.
        """
        self._check_shared()
        return DataIterator(self._counted(), self)

    def _check_shared(self) -> None:
        group = process_group()
        if group is None or self._replicate or group[1] == 1:
            return
        sampler = self.batch_sampler
        if isinstance(sampler, Sampler):
            sharded = sampler._sharded
        else:
            sharded = is_sharded(sampler) or is_sharded(getattr(sampler, "sampler", None))
        if not sharded:
            raise ConfigurationError(
                f"torch.distributed runs {group[1]} ranks, and each would get the same batches; pass rank='auto' to "
                "the sampler (or to DataLoader, if it creates the sampler), or replicate=True if that is intended"
            )

    def _counted(self) -> Iterator[Any]:
        self._taken = 0
        unused: list[Any] = []
        try:
            for batch in self._batches():
                self._taken += 1
                unused = self._unused()
                yield batch
                # Drop the reference, so that the memory can be recycled for the next batch.
                del batch
        except GeneratorExit:
            if unused and not self._warned:
                self._warned = True
                warnings.warn(_omission(unused, self._taken), ExactlyOnceWarning, stacklevel=2)
            raise

    def _unused(self) -> list[Any]:
        """Return the rest of the epoch if the loop may be about to end before it, having asked for another's length."""
        sampler = self.batch_sampler
        if not self._told or not isinstance(sampler, Sampler):
            return []
        done = len(sampler) - sampler.remaining + self._taken
        return [] if done not in self._told or sampler._ends_after(self._taken) else list(sampler._after(self._taken))

    def _batches(self) -> Iterator[Any]:
        # The batch that is used, one that each thread makes, and those made before or to be.
        drawn = 1 + self._threads + self._prefetch
        is_read_ahead = isinstance(self.dataset, UtteranceDataset) and not self.dataset._store.is_lent
        look_ahead = None
        # Looked up in the class, as below.
        if hasattr(type(self.dataset), "fetched_ahead"):
            look_ahead = partial(self.dataset.fetched_ahead, drawn=drawn + (READ_AHEAD if is_read_ahead else 0))
        batches = self._with_epoch_set(iterate_epoch(self.batch_sampler, look_ahead))
        if not self._prefetch:
            return map(self._make, batches)
        make: Callable[[Any], Any] = self._make
        if is_read_ahead:
            reading = ReadingAhead(make, self.dataset.read_ahead)
            make, batches = reading.make, reading.tasks(batches)
        return made_ahead(make, batches, self._prefetch, self._threads, helped=self._helped)

    def _with_epoch_set(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches; before the first, call ``set_epoch`` of dataset and collate function, if they have it."""
        for number, positions in enumerate(batches):
            if number == 0:
                _check_batch(positions)
            if number == 0 and isinstance(self.batch_sampler, Sampler):
                for listener in self._listeners:
                    # Looked up in the class, because a dataset may have a column of any name.
                    if hasattr(type(listener), "set_epoch"):
                        listener.set_epoch(self.batch_sampler.epoch)
            yield positions

    def _make(self, positions: Any) -> Any:
        try:
            if hasattr(self.dataset, "__getitems__"):
                return self._collate(self.dataset.__getitems__(positions))
            return self._collate(with_info_of(positions, (self.dataset[position] for position in positions)))
        except StopIteration as error:
            # StopIteration would silently end the epoch.
            raise RuntimeError("the dataset or the collate function raised StopIteration") from error


def _settings_of(listener: Any) -> Mapping[str, Any]:
    """Return the settings that determine examples or batches; {} for a function, or an object of another package."""
    # Looked up in the class, because a dataset may have a column of any name.
    return listener._fingerprint_settings() if hasattr(type(listener), "_fingerprint_settings") else {}


def _check_alone(others: Mapping[str, bool]) -> None:
    """Check that no other setting of batches is given beside a batch sampler."""
    if excluded := [name for name, given in others.items() if given]:
        raise ConfigurationError(f"DataLoader: batch_sampler cannot be combined with {', '.join(excluded)}")


def _check_samplers(
    sampler: Iterable[int] | None, batch_sampler: Iterable[Any] | None, *, shuffle: bool, shares: bool
) -> None:
    """Check that samplers give what their names say, and that no setting is given that they have themselves."""
    if shares and (sampler is not None or batch_sampler is not None):
        raise ConfigurationError("DataLoader: pass rank and world_size to the sampler")
    if sampler is not None and gives_batches(sampler):
        raise ConfigurationError(
            f"DataLoader: sampler: expected positions, found batches of a {type(sampler).__name__}; pass it as "
            "batch_sampler"
        )
    if batch_sampler is not None and gives_batches(batch_sampler) is False:
        raise ConfigurationError(
            f"DataLoader: batch_sampler: expected batches, found positions of a {type(batch_sampler).__name__}; "
            "pass it as sampler, with batch_size"
        )
    if sampler is not None and shuffle:
        raise ConfigurationError("DataLoader: sampler cannot be combined with shuffle")


def _check_threads(num_workers: int, prefetch: int, threads: int) -> None:
    if num_workers:
        raise ConfigurationError(
            f"DataLoader: num_workers={num_workers}: this loader makes batches in threads, of which one is usually "
            "enough; leave it out, or use torch.utils.data.DataLoader with the same dataset, sampler and collate_fn"
        )
    if prefetch < 0:
        raise ConfigurationError(f"prefetch: expected an integer >= 0, found {prefetch}")
    if threads < 1:
        raise ConfigurationError(f"threads: expected an integer >= 1, found {threads}")


def _check_size(batch_sampler: object, dataset: Sized) -> None:
    if isinstance(batch_sampler, Sampler) and batch_sampler.size not in (None, len(dataset)):
        raise SamplingError(
            f"the sampler was made for {batch_sampler.size:,} utterances, the dataset has {len(dataset):,}; "
            "create it for this dataset"
        )


def _check_dataset(dataset: Any) -> None:
    if isinstance(dataset, str | os.PathLike):
        path = str(dataset)
        raise ConfigurationError(f"DataLoader: expected a dataset, found a path; give UtteranceDataset({path!r})")
    if not len(dataset):
        raise SamplingError("the dataset is empty; did a filter remove all utterances?")


def _check_stores(dataset: Any, collate_fn: Any) -> None:
    """Raise ConfigurationError if a store of the dataset lacks what the collate function needs."""
    if isinstance(collate_fn, OwnCollator) and collate_fn.waveform:
        missing = [number for number, store in enumerate(stores_of(dataset)) if not store.has_waveform]
        if missing:
            raise ConfigurationError(f"waveform=True: {NO_WAVEFORMS}")
    if hasattr(type(collate_fn), "check_stores"):
        collate_fn.check_stores(stores_of(dataset))


def _check_batch(positions: object) -> None:
    """Raise ConfigurationError if what a batch sampler gave is no batch of positions."""
    if isinstance(positions, int):
        raise ConfigurationError("DataLoader: batch_sampler gave a position; pass it as sampler, with batch_size")
    if isinstance(positions, list) and positions and isinstance(positions[0], list | tuple):
        raise ConfigurationError("DataLoader: sampler gave batches; pass it as batch_sampler")


def _omission(unused: list[list[int]], taken: int) -> str:
    return (
        f"DataLoader: an epoch lacks its last {len(unused):,} of {taken + len(unused):,} batches, "
        f"{sum(map(len, unused)):,} utterances: the loop stopped after {taken:,}, the number of another epoch; create "
        "the sampler with equal_epochs=True, or let the framework ask for the number in each epoch (Lightning: "
        "reload_dataloaders_every_n_epochs=1)"
    )


def _prepare_collate(
    collate_fn: Callable[[Any], Any] | None,
    output: str,
    shapes: tuple[BatchShape, ...],
    *,
    pin_memory: bool,
    recycle: bool,
) -> Callable[[Any], Any]:
    """Return the collate function for the requested output."""
    if output not in ("numpy", "torch"):
        raise ConfigurationError(f"output: expected 'numpy' or 'torch', found {output!r}")
    if pin_memory and output != "torch":
        raise ConfigurationError("pin_memory: requires output='torch'")
    own = Collator() if collate_fn in (None, collate) else collate_fn
    if isinstance(own, Collator):
        if own.buffers is None and (pin_memory or recycle):
            own = replace(own, buffers=PinnedBuffers() if pin_memory else RecycledBuffers())
        if not own.shapes:
            own = replace(own, shapes=shapes)
    elif pin_memory:
        raise ConfigurationError(
            "pin_memory: requires collate or Collator; another collate_fn can pin its tensors itself"
        )
    if output == "numpy":
        return own
    import_torch()
    return ThenTensors(own)


class ThenTensors:
    """A collate function followed by conversion to torch tensors."""

    def __init__(self, collate_fn: Callable[[Any], Any]) -> None:
        self._collate = collate_fn

    def __call__(self, examples: Any) -> Any:
        """Return the batch with tensors."""
        batch = self._collate(examples)
        return batch.torch() if isinstance(batch, BatchFields) else to_tensors(batch)
