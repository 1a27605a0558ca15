"""What travels with a batch: its epoch and its fixed shape."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchShape:
    """The shape that a batch is padded to.

    Attributes:
        size: the number of utterances; `collate` adds empty ones to a batch that has fewer.
        lengths: padded length by the name of the lengths (``n_frames``, ``n_phonemes``, ``n_samples``).
    """

    size: int
    lengths: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """What a batch sampler knows of a batch besides its positions.

    It travels with the positions to the dataset, also into torch's worker processes, and with the examples on to the
    collate function.

    Attributes:
        epoch: the epoch of the batch; None if unknown.
        shape: the shape to pad the batch to; None pads to the longest utterance.
    """

    epoch: int | None = None
    shape: BatchShape | None = None


class BatchItems(list[T]):
    """The positions or the examples of a batch, a list with its `BatchInfo`.

    Attributes:
        batch_info: what the batch sampler knows of the batch.
    """

    __slots__ = ("batch_info",)

    def __init__(self, items: Iterable[T], batch_info: BatchInfo) -> None:
        # An epoch can have millions of batches: slots and no super() save a third of the time.
        list.__init__(self, items)
        self.batch_info = batch_info

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchItems, (list(self), self.batch_info)


def info_of(batch: object) -> BatchInfo:
    """Return what is known of a batch of positions or examples; nothing if it is from another package."""
    info = getattr(batch, "batch_info", None)
    return info if isinstance(info, BatchInfo) else BatchInfo()


def with_info_of(batch: object, items: Iterable[T]) -> list[T]:
    """Return items as a list, with the info of a batch if that has one."""
    info = getattr(batch, "batch_info", None)
    return BatchItems(items, info) if isinstance(info, BatchInfo) else list(items)
