"""What Parakeet's training scripts import, by its names: batches, padding, zipped datasets, a sampler and a loader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.composition import DatasetMixin, Slot, slots_of
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.buffers import FreshBuffers, RecycledBuffers
from tts_prep.loader.batching.padding import check_axes, fill, pad_sequences, pad_spectrograms
from tts_prep.loader.batching.unpadded import Unpadded
from tts_prep.loader.dataloader import DataIterator, DataLoader
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed, digest, permutation
from tts_prep.loader.samplers.base import PositionSampler, check_batch_size
from tts_prep.loader.samplers.ranks import Rank
from tts_prep.recipes.accepted import PARAKEET, ChecksStores, Settings, StoreCheck


def batch_text_id(
    minibatch: Sequence[npt.ArrayLike],
    pad_id: int = 0,
    dtype: npt.DTypeLike = np.int64,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad sequences of ids, each [T], to [B, T], by Parakeet's name; `pad_sequences` says the same with types.

    Args:
        minibatch: at least one.
        pad_id: the value of the padding.
        dtype: the dtype of the batch.
        return_lengths: return also the lengths [B].
        pad_to_multiple: pad to a multiple of this length.

    Raises:
        ConfigurationError: there are no sequences, or one is not [T].
    """
    check_axes(minibatch, 1)
    batch = pad_sequences(minibatch, pad_id, dtype, -1, pad_to_multiple)
    return batch if return_lengths else batch[0]


def batch_wav(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: float = 0.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad waveforms, each [T] or [C, T], to [B, T] or [B, C, T], by Parakeet's name; see `pad_sequences`.

    Values are converted, not scaled: an int16 sample of 32,767 becomes 32,767.0.

    Args:
        minibatch: at least one.
        pad_value: the value of the padding.
        dtype: the dtype of the batch.
        return_lengths: return also the lengths [B].
        pad_to_multiple: pad to a multiple of this length.

    Raises:
        ConfigurationError: there are no waveforms, or their numbers of channels differ.
    """
    check_axes(minibatch, 1, 2)
    batch = pad_sequences(minibatch, pad_value, dtype, -1, pad_to_multiple)
    return batch if return_lengths else batch[0]


def batch_spec(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike = 0.0,
    time_major: Any = False,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad spectrograms, by Parakeet's name; `pad_spectrograms` says the same with types.

    Args:
        minibatch: at least one, [F, T] or [C, F, T].
        pad_value: a number, or one per bin, [F].
        time_major: the spectrograms are [T, F]. A dtype here is used as `dtype`, which is the third argument in
            Parakeet's first versions.
        dtype: the dtype of the batch.
        return_lengths: return also the lengths in frames [B].
        pad_to_multiple: pad to a multiple of this length.

    Raises:
        ConfigurationError: there are no spectrograms, or their numbers of bins or channels differ.
    """
    if not isinstance(time_major, bool | int | np.bool_):
        time_major, dtype = False, time_major
    batch = pad_spectrograms(minibatch, pad_value, bool(time_major), dtype, pad_to_multiple)
    return batch if return_lengths else batch[0]


def stop_probabilities(n_frames: int) -> npt.NDArray[np.int64]:
    """Return an array [n_frames] of ones whose last value is 2.

    Example:
        >>> from tts_prep.recipes import stop_probabilities
        >>> stop_probabilities(4).tolist()
        [1, 1, 1, 2]
    """
    stops = np.ones(n_frames, np.int64)
    stops[-1:] = 2
    return stops


class LJSpeechCollector(ChecksStores):
    """Batch examples of ids, mel and stop probabilities.

    Example:
        >>> from tts_prep.loader import DataLoader, UtteranceDataset
        >>> from tts_prep.recipes import LJSpeechCollector
        >>> dataset = UtteranceDataset("store")
        >>> loader = DataLoader(dataset, batch_size=2, collate_fn=LJSpeechCollector(settings="any"))
        >>> ids, mels, stops = next(iter(loader))
        >>> mels.shape, stops.shape
        ((2, 45, 5), (2, 45))

    Args:
        padding_idx: the padding value of ids and stop probabilities.
        padding_value: the padding value of mels.
        settings: ``"preset"`` requires utterances of stores with all settings of the preset ``parakeet``; ``"any"``
            accepts every store.
    """

    def __init__(self, padding_idx: int = 0, padding_value: float = 0.0, *, settings: Settings = "preset") -> None:
        self.padding_idx = padding_idx
        self.padding_value = padding_value
        self._check = StoreCheck(PARAKEET, settings)
        self._buffers = RecycledBuffers()

    def __call__(
        self, examples: UtteranceDataset | Sequence[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return ids [B, L] int64, mels [B, T, F] float32 and stop probabilities [B, T] int64.

        Args:
            examples: utterances of a store, or tuples of ids [L], mel [F, T] and stop probabilities [T].

        Raises:
            ConfigurationError: a store has other settings.
        """
        if isinstance(examples, UtteranceDataset) and not examples._is_half:  # no object for each utterance
            self._check.stores([examples.metadata])
            found = Unpadded.of(examples, waveform=False)
            ids, _ = fill(found.phonemes, len(examples), 0, self.padding_idx, np.int64, FreshBuffers())
            mels, lengths = fill(found.mels, len(examples), 0, self.padding_value, np.float32, self._buffers)
            left = lengths[:, None] - np.arange(mels.shape[1])
            stops = np.where(left > 1, 1, np.where(left == 1, 2, self.padding_idx)).astype(np.int64, copy=False)
            return ids, mels, stops
        every = list(examples)
        self._check(every)
        triples = [_triple(example) for example in every]
        ids = batch_text_id([ids for ids, _, _ in triples], pad_id=self.padding_idx)
        mels, _ = pad_spectrograms([mel for _, mel, _ in triples], self.padding_value, True, buffers=self._buffers)
        stops = batch_text_id([stops for _, _, stops in triples], pad_id=self.padding_idx)
        return ids, mels, stops


def _triple(example: Any) -> tuple[Any, Any, Any]:
    if isinstance(example, Utterance):
        return example.phonemes, example.mel, stop_probabilities(len(example.mel))
    ids, mel, stops = example
    return ids, np.transpose(mel), stops


class TupleDataset(DatasetMixin[tuple[Any, ...]]):
    """A dataset whose examples are tuples of the examples of several datasets.

    Example:
        >>> from tts_prep.loader import UtteranceDataset
        >>> from tts_prep.recipes import TupleDataset
        >>> dataset = UtteranceDataset("store")
        >>> utterance, label = TupleDataset(dataset, list("abcdefgh"))[1]
        >>> utterance.id, label
        ('utterance-1', 'b')

    Raises:
        ConfigurationError: there are no datasets, or their lengths differ. It is a ``ValueError``.
    """

    def __init__(self, *datasets: Any) -> None:
        _check_lengths("TupleDataset", {str(i): dataset for i, dataset in enumerate(datasets)})
        self.datasets = datasets

    def __len__(self) -> int:
        return len(self.datasets[0])

    def get_example(self, i: int) -> tuple[Any, ...]:
        """Return the tuple at a position."""
        return tuple(dataset[i] for dataset in self.datasets)

    def _bases(self) -> Sequence[Any]:
        return self.datasets

    def _slots(self) -> list[Slot]:
        return [
            (f"[{i}]{place}", store) for i, dataset in enumerate(self.datasets) for place, store in slots_of(dataset)
        ]

    def _over(self, change: Callable[[Any], Any]) -> TupleDataset:
        return TupleDataset(*map(change, self.datasets))


class DictDataset(DatasetMixin[dict[str, Any]]):
    """A dataset whose examples are dicts of the examples of several datasets, by keyword.

    Raises:
        ConfigurationError: there are no datasets, or their lengths differ. It is a ``ValueError``.
    """

    def __init__(self, **datasets: Any) -> None:
        _check_lengths("DictDataset", datasets)
        self.datasets = datasets

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values())))

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the dict at a position."""
        return {name: dataset[i] for name, dataset in self.datasets.items()}

    def _bases(self) -> Sequence[Any]:
        return tuple(self.datasets.values())

    def _slots(self) -> list[Slot]:
        return [
            (f"[{name!r}]{place}", store)
            for name, dataset in self.datasets.items()
            for place, store in slots_of(dataset)
        ]

    def _over(self, change: Callable[[Any], Any]) -> DictDataset:
        return DictDataset(**{name: change(dataset) for name, dataset in self.datasets.items()})


def _check_lengths(kind: str, datasets: dict[str, Any]) -> None:
    if not datasets:
        raise ConfigurationError(f"{kind}: expected at least one dataset, found none")
    lengths = {name: len(dataset) for name, dataset in datasets.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name}: {length:,}" for name, length in lengths.items())
        raise ConfigurationError(f"{kind}: expected datasets of equal length, found {counts}")


_BATCHES = 0
_GROUPS = 1
_BATCHES_A_GROUP = 32


class PartiallyRandomizedSimilarTimeLengthSampler(PositionSampler):
    """Visit utterances of similar length one after another, for a `BatchSampler` of the same batch size.

    Utterances are sorted by length, shuffled within groups of several batches, and then the batches are put into
    random order; a last, smaller batch stays last. `LengthBucketBatchSampler` gives less padding.

    With several ranks, neighbouring utterances go to different ranks, so that each rank's batches are of similar length
    too. The units of the random order are then ``world_size`` batches, so a state cannot be loaded with another world
    size.

    Args:
        lengths: [n] the length of each utterance.
        batch_size: utterances per batch.
        batch_group_size: the number of neighbouring utterances that are shuffled among each other, a multiple of the
            batch size; defaults to 32 batches.
        permutate: put the batches into random order; False keeps the shortest first.
        seed: a non-negative integer.
        rank: see `Sampler`.
        world_size: see `Sampler`.

    Raises:
        ConfigurationError: a setting is out of range, or the lengths are not a vector of numbers.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike,
        batch_size: int = 4,
        batch_group_size: int | None = None,
        permutate: bool = True,
        *,
        seed: int = 0,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        self._lengths = np.asarray(lengths)
        self._batch_size = check_batch_size(batch_size)
        self._group_size = _BATCHES_A_GROUP * batch_size if batch_group_size is None else batch_group_size
        self._permutate = permutate
        self._seed = check_seed(seed)
        if self._lengths.ndim != 1 or (self._lengths.size and self._lengths.dtype.kind not in "iuf"):
            raise ConfigurationError(f"lengths: expected numbers [n], found {self._lengths.dtype}")
        if self._group_size < 1 or self._group_size % self._batch_size:
            raise ConfigurationError(
                f"batch_group_size: expected a multiple of the batch size {batch_size}, found {batch_group_size}"
            )
        self._size = self._count = len(self._lengths)

    def order(self, epoch: int) -> Iterator[int]:
        """Iterate over the positions of an epoch, for all ranks."""
        order = np.argsort(self._lengths, kind="stable")
        group_size = self._group_size * self._n_ranks
        for number, start in enumerate(range(0, len(order), group_size)):
            group = order[start : start + group_size]
            order[start : start + group_size] = group[permutation(len(group), self._seed, epoch, _GROUPS + number)]
        together = self._batch_size * self._n_ranks
        full = len(order) - len(order) % together
        if self._permutate:
            batches = order[:full].reshape(-1, together)
            order[:full] = batches[permutation(len(batches), self._seed, epoch, _BATCHES)].ravel()
        return map(int, order)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "lengths": digest(self._lengths),
            "batch_size": self._batch_size,
            "group_size": self._group_size,
            "permutate": self._permutate,
            "seed": self._seed,
            **({"world_size": self._n_ranks} if self._n_ranks > 1 else {}),
        }


PartialyRandomizedSimilarTimeLengthSampler = PartiallyRandomizedSimilarTimeLengthSampler
"""The spelling of Parakeet's first versions."""


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
