"""Batches as torch tensors. torch is imported when the first one is wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, MissingPackageError


def import_torch() -> Any:
    """Return torch.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError("torch tensors are asked for, but torch is not installed") from error
    return torch


def to_tensors(value: Any) -> Any:
    """Return what `value` is with a tensor in the place of every array of numbers, on the same memory.

    Looks into tuples, lists and dicts.
    """
    torch = import_torch()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, dict):
        return {key: to_tensors(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(to_tensors(part) for part in value)
    return value


class PinnedBuffers:
    """Page-locked memory, from which a CUDA device reads by itself; torch recycles it once copies are through.

    Raises:
        MissingPackageError: torch is not installed.
        ConfigurationError: it sees no device to pin memory for.
    """

    def __init__(self) -> None:
        if not import_torch().cuda.is_available():
            raise ConfigurationError("pin_memory: torch sees no CUDA device to pin memory for")

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of any contents that nothing else shows."""
        wanted = np.dtype(dtype)
        torch = import_torch()
        memory = torch.empty(math.prod(shape) * wanted.itemsize, dtype=torch.uint8, pin_memory=True)
        array: npt.NDArray[Any] = memory.numpy().view(wanted).reshape(shape)
        return array
