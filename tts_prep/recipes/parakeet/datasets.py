"""Parakeet's datasets that are zipped from others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.composition import DatasetMixin, Slot, slots_of
from tts_prep.loader.dataset.metadata import StoreMetadata


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

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the underlying stores."""
        return [store for _, store in self._slots()]

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

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the underlying stores."""
        return [store for _, store in self._slots()]

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
