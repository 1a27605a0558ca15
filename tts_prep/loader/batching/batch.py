"""Batches: fields by name, tensors, devices, pytrees; padded utterances."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, KeysView
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tts_prep.loader.batching.padding import Lengths
from tts_prep.loader.batching.tensors import import_torch, to_tensors

if TYPE_CHECKING:
    from torch import Tensor


TensorsT = TypeVar("TensorsT", bound="BatchFields[Any]")

_registered: set[tuple[str, type]] = set()


@dataclass(frozen=True, eq=False, repr=False)
class BatchFields(ABC, Generic[TensorsT]):
    """A batch whose fields are arrays or tensors or None, apart from `ids`, a list of strings.

    ``batch["mel"]`` is ``batch.mel``, and ``batch.keys()`` are the names of all fields that are not None. If the batch
    has a dict of further arrays, ``batch.pitch`` and ``batch["pitch"]`` are ``batch.arrays["pitch"]``. A batch is a
    pytree for torch and for jax; the ids are leaves for torch only.
    """

    ids: list[str]

    @property
    @abstractmethod
    def _tensors(self) -> type[TensorsT]:
        """The class of this batch with tensors."""

    def __post_init__(self) -> None:
        _register_pytrees(type(self))

    def __repr__(self) -> str:
        arrays = {name: getattr(self, name) for name in ("mel", "phonemes", "waveform") if name in self.__dict__}
        shapes = [f"{name} {list(array.shape)}" for name, array in arrays.items() if array is not None]
        return f"<{type(self).__name__}: {', '.join(shapes)}>"

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Any:
        """Return a field or a further array by name.

        Raises:
            KeyError: there is none of this name, or it is None.
        """
        return {**self._further(), **self.as_dict()}[name]

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are not fields.
        if name in self._further():
            return self._further()[name]
        raise AttributeError(f"the batch has no '{name}'; request arrays with arrays=(…)")

    def _further(self) -> dict[str, Any]:
        return self.__dict__.get("arrays") or {}

    # Without it, Python would iterate through __getitem__ with integers.
    __iter__ = None

    def __contains__(self, name: object) -> bool:
        return name in self.as_dict() or name in self._further()

    def keys(self) -> KeysView[str]:
        """Return the names of the fields that are not None."""
        return self.as_dict().keys()

    def as_dict(self) -> dict[str, Any]:
        """Return all fields that are not None, by name."""
        return {entry.name: value for entry in fields(self) if (value := getattr(self, entry.name)) is not None}

    def torch(self) -> TensorsT:
        """Return the batch with torch tensors that share memory with its arrays.

        Raises:
            MissingPackageError: torch is not installed.
        """
        return self._tensors(**to_tensors(self.as_dict()))

    def to(self, device: Any, non_blocking: bool = False) -> TensorsT:
        """Return the batch as torch tensors on a device.

        Args:
            device: a device as for ``torch.Tensor.to``, or a dtype for the floating-point tensors.
            non_blocking: return before the copy from pinned memory is complete.

        Raises:
            MissingPackageError: torch is not installed.
        """
        is_dtype = isinstance(device, import_torch().dtype)

        def moved(tensor: Any) -> Any:
            if is_dtype and not tensor.is_floating_point():
                return tensor
            return tensor.to(device, non_blocking=non_blocking)

        return self._each(moved)

    def pin_memory(self) -> TensorsT:
        """Return the batch as torch tensors in page-locked memory, for asynchronous copies to a CUDA device.

        Raises:
            MissingPackageError: torch is not installed.
        """
        return self._each(lambda tensor: tensor.pin_memory())

    def _each(self, function: Callable[[Any], Any]) -> TensorsT:
        tensors = to_tensors(self.as_dict())
        moved: dict[str, Any] = {
            name: {key: function(item) for key, item in value.items()} if isinstance(value, dict) else function(value)
            for name, value in tensors.items()
            if name != "ids"
        }
        return self._tensors(ids=self.ids, **moved)


class _Ids(tuple[str, ...]):
    """Ids in the structure of a jax pytree. All compare equal, so that jax does not recompile for every batch."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ids)

    def __hash__(self) -> int:
        return 0


def _register_pytrees(kind: type[BatchFields[Any]]) -> None:
    """Register a class of batches as a pytree with torch and jax, if the program has imported them."""
    if "torch" in sys.modules and ("torch", kind) not in _registered:
        torch: Any = sys.modules["torch"]
        if hasattr(torch, "export"):  # not while torch is still being imported
            _registered.add(("torch", kind))
            torch.export.register_dataclass(kind)
    if "jax" in sys.modules and ("jax", kind) not in _registered:
        jax: Any = sys.modules["jax"]
        if hasattr(jax, "tree_util"):
            _registered.add(("jax", kind))
            jax.tree_util.register_pytree_node(kind, _flatten, partial(_unflatten, kind))


def _flatten(batch: BatchFields[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    values = batch.as_dict()
    ids = _Ids(values.pop("ids"))
    return tuple(values.values()), (tuple(values), ids)


def _unflatten(kind: type[BatchFields[Any]], structure: tuple[Any, ...], children: tuple[Any, ...]) -> BatchFields[Any]:
    names, ids = structure
    return kind(ids=list(ids), **dict(zip(names, children, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class Batch(BatchFields["TorchBatch"]):
    """B padded utterances. The caller owns all arrays.

    With fixed shapes, a batch may end with empty utterances: index −1, id ``""``, all lengths 0.

    Fields are also available by name, as ``batch["mel"]`` and ``batch.keys()``; see `BatchFields`.

    Example:
        >>> from tts_prep.loader import UtteranceDataset, collate
        >>> batch = collate(UtteranceDataset("store")[:3])
        >>> batch
        <Batch: mel [3, 50, 5], phonemes [3, 17], waveform [3, 12561]>
        >>> batch.mel_lengths.tolist()
        [40, 45, 50]

    Attributes:
        ids: [B] the ids of the utterances.
        indices: [B] int64, the row of each utterance in its store.
        mel: [B, T, n_mels] float32, or [B, n_mels, T] on request.
        mel_lengths: [B] int64, frames.
        phonemes: [B, L] int64, padded with the store's pad id.
        phoneme_lengths: [B] int64.
        speakers: [B] int64, speaker codes.
        waveform: [B, S] float32, -1 to 1, padded with zeros; None if the store has none or it was not requested.
        waveform_lengths: [B] int64, samples; None without `waveform`.
        arrays: the requested further arrays by name, padded to the length of the mel, the phonemes or the
            waveform, depending on their axis. None if none was requested.
        array_lengths: [B] int64 by name, for arrays with an axis of their own.
    """

    indices: npt.NDArray[np.int64]
    mel: npt.NDArray[np.float32]
    mel_lengths: Lengths
    phonemes: npt.NDArray[np.int64]
    phoneme_lengths: Lengths
    speakers: npt.NDArray[np.int64]
    waveform: npt.NDArray[np.float32] | None = None
    waveform_lengths: Lengths | None = None
    arrays: dict[str, npt.NDArray[Any]] | None = None
    array_lengths: dict[str, Lengths] | None = None

    @property
    def _tensors(self) -> type[TorchBatch]:
        return TorchBatch


@dataclass(frozen=True, eq=False, repr=False)
class TorchBatch(BatchFields["TorchBatch"]):
    """A `Batch` of torch tensors, with the same fields: what ``output="torch"`` gives."""

    indices: Tensor
    mel: Tensor
    mel_lengths: Tensor
    phonemes: Tensor
    phoneme_lengths: Tensor
    speakers: Tensor
    waveform: Tensor | None = None
    waveform_lengths: Tensor | None = None
    arrays: dict[str, Tensor] | None = None
    array_lengths: dict[str, Tensor] | None = None

    @property
    def _tensors(self) -> type[TorchBatch]:
        return TorchBatch


class OwnCollator:
    """What makes batches of utterances and is thread-safe.

    Attributes:
        waveform: whether it needs waveforms; None takes them if the stores have them.
    """

    waveform: bool | None
