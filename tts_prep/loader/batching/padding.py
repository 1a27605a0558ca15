"""Pad sequences of different lengths into one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.loader.batching.buffers import Buffers, FreshBuffers

Lengths = npt.NDArray[np.int64]


def pad_sequences(
    sequences: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike,
    dtype: npt.DTypeLike,
    axis: int = 0,
    pad_to_multiple: int = 1,
) -> tuple[Array, Lengths]:
    """Copy sequences into one new array, padded at the end.

    Every element of the result is written once.

    Args:
        sequences: at least one, of equal shape except along `axis`.
        pad_value: a number, or an array that broadcasts against the padding.
        dtype: the dtype of the result.
        axis: the axis along which lengths differ.
        pad_to_multiple: pad to a multiple of this length.

    Returns:
        The padded array [B, …] and the lengths [B].

    Raises:
        ConfigurationError: there are no sequences, or their shapes do not match.
    """
    arrays = [np.asarray(sequence) for sequence in sequences]
    if not arrays:
        raise ConfigurationError("cannot pad an empty batch; is the dataset empty?")
    n_dimensions = arrays[0].ndim
    if not -n_dimensions <= axis < n_dimensions:
        raise ConfigurationError(f"cannot pad axis {axis} of a sequence of the shape {list(arrays[0].shape)}")
    axis %= n_dimensions
    shape = list(arrays[0].shape)
    rest = shape[:axis] + shape[axis + 1 :]
    for i, array in enumerate(arrays):
        found = array.shape
        if len(found) != n_dimensions or [*found[:axis], *found[axis + 1 :]] != rest:
            raise ConfigurationError(
                f"sequence {i} of the batch has the shape {list(found)}, sequence 0 {shape}; "
                f"only axis {axis} may differ"
            )
    if pad_to_multiple < 1:
        raise ConfigurationError(f"pad_to_multiple: expected an integer >= 1, found {pad_to_multiple}")
    # An empty list has the dtype float64, which cannot be cast to that of ids.
    arrays = [array if array.size else array.astype(dtype) for array in arrays]
    return fill(arrays, len(arrays), 0, pad_value, dtype, FreshBuffers(), pad_to_multiple, axis)


def fill(
    sequences: Sequence[Array],
    size: int,
    longest: int,
    pad_value: npt.ArrayLike,
    dtype: npt.DTypeLike,
    buffers: Buffers,
    pad_to_multiple: int = 1,
    axis: int = 0,
) -> tuple[Array, Lengths]:
    """Copy sequences into one array, padded at the end, followed by empty rows up to `size`.

    Shapes are not checked: `pad_sequences` checks those of a user, and the dataset has checked those of a store.

    Args:
        sequences: at least one, at most `size`.
        size: the number of rows of the result.
        longest: the minimum padded length.
        pad_value: a number, or an array that broadcasts against the padding.
        dtype: the dtype of the result.
        buffers: the allocator of the result.
        pad_to_multiple: pad to a multiple of this length.
        axis: the axis along which lengths differ.

    Returns:
        The padded array [size, …] and the lengths [size] int64.
    """
    lengths = [sequence.shape[axis] for sequence in sequences]
    longest = max(longest, *lengths)
    longest += -longest % pad_to_multiple
    shape = list(sequences[0].shape)
    shape[axis] = longest
    batch = buffers.take((size, *shape), dtype)
    empty = size - len(sequences)
    if axis:
        before = (slice(None),) * axis
        for row, sequence, length in zip(batch, sequences, lengths, strict=False):
            np.copyto(row[(*before, slice(length))], sequence, casting="same_kind")
            row[(*before, slice(length, None))] = pad_value
        batch[size - empty :] = pad_value
    else:
        rest = shape[1:]
        row = np.empty(rest, dtype)
        row[...] = pad_value
        # A broadcast view of one row.
        padding = np.ndarray((longest, *rest), dtype, row, strides=(0, *row.strides))
        pieces = []
        for sequence, length in zip(sequences, lengths, strict=True):
            pieces.append(sequence)
            if length < longest:
                pieces.append(padding[length:])
        # One call for all copies, because the overhead of a call is that of a short copy.
        np.concatenate(pieces + [padding] * empty, out=batch.reshape(-1, *rest), casting="same_kind")
    return batch, np.fromiter(lengths + [0] * empty, np.int64, size)


@overload
def batch_text_id(
    minibatch: Sequence[npt.ArrayLike],
    pad_id: int = 0,
    dtype: npt.DTypeLike = np.int64,
    *,
    return_lengths: Literal[False] = False,
    pad_to_multiple: int = 1,
) -> Array: ...
@overload
def batch_text_id(
    minibatch: Sequence[npt.ArrayLike],
    pad_id: int = 0,
    dtype: npt.DTypeLike = np.int64,
    *,
    return_lengths: Literal[True],
    pad_to_multiple: int = 1,
) -> tuple[Array, Lengths]: ...
def batch_text_id(
    minibatch: Sequence[npt.ArrayLike],
    pad_id: int = 0,
    dtype: npt.DTypeLike = np.int64,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad sequences of ids, each [T], to [B, T]; with `return_lengths` return also their lengths [B].

    Raises:
        ConfigurationError: there are no sequences, or one is not [T].
    """
    return _pad_last(minibatch, pad_id, dtype, (1,), -1, return_lengths, pad_to_multiple)


@overload
def batch_wav(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: float = 0.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: Literal[False] = False,
    pad_to_multiple: int = 1,
) -> Array: ...
@overload
def batch_wav(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: float = 0.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: Literal[True],
    pad_to_multiple: int = 1,
) -> tuple[Array, Lengths]: ...
def batch_wav(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: float = 0.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad waveforms, each [T] or [C, T], to [B, T] or [B, C, T]; with `return_lengths` return also their lengths [B].

    Values are converted, not scaled: an int16 sample of 32,767 becomes 32,767.0.

    Raises:
        ConfigurationError: there are no waveforms, or their numbers of channels differ.
    """
    return _pad_last(minibatch, pad_value, dtype, (1, 2), -1, return_lengths, pad_to_multiple)


@overload
def batch_spec(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike = 0.0,
    time_major: bool = False,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: Literal[False] = False,
    pad_to_multiple: int = 1,
) -> Array: ...
@overload
def batch_spec(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike = 0.0,
    time_major: bool = False,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: Literal[True],
    pad_to_multiple: int = 1,
) -> tuple[Array, Lengths]: ...
def batch_spec(
    minibatch: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike = 0.0,
    time_major: Any = False,
    dtype: npt.DTypeLike = np.float32,
    *,
    return_lengths: bool = False,
    pad_to_multiple: int = 1,
) -> Any:
    """Pad spectrograms, each [F, T], to [B, F, T]; with `time_major` each [T, F] to [B, T, F].

    Spectrograms may have a leading axis of channels: [C, F, T] becomes [B, C, F, T].

    Args:
        minibatch: the spectrograms.
        pad_value: a number, or one per bin, [F].
        time_major: the spectrograms, and so the batch, have time before frequency. A dtype here is used as `dtype`,
            which is the third argument in Parakeet's first versions.
        dtype: the dtype of the batch.
        return_lengths: return also the lengths in frames [B].
        pad_to_multiple: pad to a multiple of this length.

    Raises:
        ConfigurationError: there are no spectrograms, or their numbers of bins or channels differ.
    """
    if not isinstance(time_major, bool | int | np.bool_):
        # In Parakeet's first versions the third argument is the dtype.
        time_major, dtype = False, time_major
    pad = np.asarray(pad_value)
    if pad.ndim and not time_major:
        pad = pad[:, np.newaxis]
    return _pad_last(minibatch, pad, dtype, (2, 3), -2 if time_major else -1, return_lengths, pad_to_multiple)


def _pad_last(
    sequences: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike,
    dtype: npt.DTypeLike,
    dimensions: tuple[int, ...],
    axis: int,
    return_lengths: bool,
    pad_to_multiple: int,
) -> Any:
    for i, sequence in enumerate(sequences):
        if np.ndim(sequence) not in dimensions:
            expected = " or ".join(str(n) for n in dimensions)
            raise ConfigurationError(f"sequence {i} of the batch: expected {expected} axes, found {np.ndim(sequence)}")
    batch, lengths = pad_sequences(sequences, pad_value, dtype, axis, pad_to_multiple)
    return (batch, lengths) if return_lengths else batch
