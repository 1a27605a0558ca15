"""Batches as torch tensors. torch is imported on first use."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, MissingPackageError


def import_torch() -> Any:
    """Import and return torch.

    Raises:
        MissingPackageError: torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError("torch tensors were requested, but torch is not installed") from error
    return torch


def to_tensors(value: Any) -> Any:
    """Replace every numpy array in a value by a torch tensor that shares its memory.

    Recurses into tuples, lists and dicts. Read-only arrays, as those of a store are, are copied: torch has no read-only
    tensors, and writing to a file that is mapped read-only ends the process.
    """
    if isinstance(value, np.ndarray):
        return _to_tensor(value)
    if isinstance(value, dict):
        return {key: to_tensors(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(to_tensors(item) for item in value)
    return value


def _to_tensor(array: npt.NDArray[Any]) -> Any:
    torch = import_torch()
    if not array.flags.writeable:
        return torch.from_numpy(array.copy())
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if not isinstance(owner, torch.Tensor) or not array.size or min(array.strides, default=0) < 0:
        return torch.from_numpy(array)
    # On torch's own storage, so that its allocator knows who uses a slice of page-locked memory, and recycles it only
    # after copies that are under way. torch.from_numpy makes a storage of which the allocator does not know.
    dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
    storage = owner.untyped_storage()
    start = (array.__array_interface__["data"][0] - storage.data_ptr()) // array.itemsize
    strides = [stride // array.itemsize for stride in array.strides]
    return torch.empty(0, dtype=dtype).set_(storage, start, array.shape, strides)


class PinnedBuffers:
    """Allocate page-locked memory, for asynchronous copies to a CUDA device; torch recycles it after the copies.

    Raises:
        MissingPackageError: torch is not installed.
        ConfigurationError: torch finds no CUDA device.
    """

    def __init__(self) -> None:
        if not import_torch().cuda.is_available():
            raise ConfigurationError("pin_memory: torch finds no CUDA device")

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an uninitialized array that shares memory with no other."""
        item = np.dtype(dtype)
        torch = import_torch()
        memory = torch.empty(math.prod(shape) * item.itemsize, dtype=torch.uint8, pin_memory=True)
        array: npt.NDArray[Any] = memory.numpy().view(item).reshape(shape)
        return array
