"""Pad sequences of different lengths into one array."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.batching.buffers import Buffers, FreshBuffers

Lengths = npt.NDArray[np.int64]
Padding: TypeAlias = "float | Sequence[float]"

_SMALL = 1 << 17
"""The size in bytes below which a batch is filled with padding at once, and not row by row."""


def pad_sequences(
    sequences: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike,
    dtype: npt.DTypeLike,
    axis: int = -1,
    pad_to_multiple: int = 1,
    buffers: Buffers = FreshBuffers(),
) -> tuple[npt.NDArray[Any], Lengths]:
    """Copy sequences into one new array, padded at the end: ids [T], waveforms [T] or [C, T], and others.

    Every element of the result is written once. Values are converted, not scaled.

    Example:
        >>> from tts_prep.loader import pad_sequences
        >>> ids, lengths = pad_sequences([[1, 2, 3], [4]], pad_value=0, dtype="int64")
        >>> ids.tolist(), lengths.tolist()
        ([[1, 2, 3], [4, 0, 0]], [3, 1])

    Args:
        sequences: at least one, of equal shape except along `axis`.
        pad_value: a number, or an array that broadcasts against the padding.
        dtype: the dtype of the result.
        axis: the axis along which lengths differ.
        pad_to_multiple: pad to a multiple of this length.
        buffers: the allocator of the result.

    Returns:
        The padded array [B, …] and the lengths [B].

    Raises:
        ConfigurationError: there are no sequences, or their shapes do not match.
    """
    arrays = [np.asarray(sequence) for sequence in sequences]
    if not arrays:
        raise ConfigurationError("cannot pad an empty batch; is the dataset empty?")
    axis = _checked_axis(arrays, axis)
    if pad_to_multiple < 1:
        raise ConfigurationError(f"pad_to_multiple: expected an integer >= 1, found {pad_to_multiple}")
    # An empty list has the dtype float64, which cannot be cast to that of ids.
    arrays = [array if array.size else array.astype(dtype) for array in arrays]
    for found in {array.dtype for array in arrays}:  # raises where values would be lost
        np.copyto(np.empty(0, dtype), np.empty(0, found), casting="same_kind")
    if axis:
        pad = np.broadcast_to(pad_value, [1 if i == axis else n for i, n in enumerate(arrays[0].shape)])
        arrays, pad_value = [np.moveaxis(array, axis, 0) for array in arrays], np.moveaxis(pad, axis, 0)
    return fill(arrays, len(arrays), 0, pad_value, dtype, buffers, pad_to_multiple, axis)


def _checked_axis(arrays: Sequence[npt.NDArray[Any]], axis: int) -> int:
    """Return an axis counted from the first.

    Raises:
        ConfigurationError: the arrays do not have it, or differ along another one.
    """
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
    return axis


def fill(
    sequences: Sequence[npt.NDArray[Any]],
    size: int,
    longest: int,
    pad_value: npt.ArrayLike,
    dtype: npt.DTypeLike,
    buffers: Buffers,
    pad_to_multiple: int = 1,
    axis: int = 0,
    finish: Callable[[int, npt.NDArray[Any], npt.NDArray[Any]], object] | None = None,
) -> tuple[npt.NDArray[Any], Lengths]:
    """Copy sequences into one array, padded at the end, followed by empty rows up to `size`.

    Shapes are not checked: `pad_sequences` checks those of a user, and the dataset has checked those of a store.

    Args:
        sequences: at least one, at most `size`; their lengths differ along the first axis.
        size: the number of rows of the result.
        longest: the minimum padded length.
        pad_value: a number, or an array that broadcasts against rows of a sequence.
        dtype: the dtype of the result.
        buffers: the allocator of the result.
        pad_to_multiple: pad to a multiple of this length.
        axis: where a row of the result has the axis along which lengths differ.
        finish: called with the place of each sequence, itself and its copy, which is in the processor's cache.

    Returns:
        The padded array [size, …] and the lengths [size] int64.
    """
    lengths = [len(sequence) for sequence in sequences]
    longest = max(longest, *lengths)
    longest += -longest % pad_to_multiple
    shape = list(sequences[0].shape[1:])
    shape.insert(axis, longest)
    batch = buffers.take((size, *shape), dtype)
    rows = np.moveaxis(batch, axis + 1, 1) if axis else batch
    # Of a small batch, all rows at once: a call takes as long as a short copy.
    if at_once := batch.nbytes < _SMALL:
        rows[:, min(lengths) :] = pad_value
    for place, (row, sequence, length) in enumerate(zip(rows, sequences, lengths, strict=False)):
        row[:length] = sequence
        if finish:
            finish(place, sequence, row[:length])
        if length < longest and not at_once:
            row[length:] = pad_value
    rows[len(lengths) :] = pad_value
    return batch, np.array([*lengths, *[0] * (size - len(lengths))], np.int64)


def pad_arrays(
    arrays: Mapping[str, Sequence[npt.NDArray[Any]]],
    specs: Mapping[str, ArraySpec],
    size: int,
    lengths: Mapping[str, int],
    buffers: Buffers,
    padding: Mapping[str, Padding],
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Lengths]]:
    """Pad arrays. Return also the lengths of those with an axis of their own.

    Integers become int64, as embeddings require, and other numbers float32.

    Args:
        arrays: the arrays of all utterances by name.
        specs: the specification of each array by name.
        size: the number of rows of the batch; rows without an utterance are zeros.
        lengths: the padded length of each axis.
        buffers: the allocator of the results.
        padding: by name of an array, the value of its padding, or one for each number of a row; 0 for the others.

    Raises:
        ConfigurationError: an array has one row per sample, and the batch has no waveform; or integers would be padded
            with a fraction.
    """
    padded: dict[str, npt.NDArray[Any]] = {}
    own: dict[str, Lengths] = {}
    for name, values in arrays.items():
        spec = specs[name]
        dtype = np.float32 if np.dtype(spec.dtype).kind == "f" else np.int64
        if spec.axis == "sample" and not lengths["sample"]:
            raise ConfigurationError(f"array '{name}' has one row per sample; pass waveform=True")
        pad_value = padding_of(name, padding, spec, dtype)
        if spec.axis == "utterance":
            padded[name] = buffers.take((size, *spec.row_shape), dtype)
            padded[name][: len(values)], padded[name][len(values) :] = values, pad_value
            continue
        padded[name], array_lengths = fill(values, size, lengths.get(spec.axis, 0), pad_value, dtype, buffers)
        if spec.axis == "own":
            own[name] = array_lengths
    return padded, own


def padding_of(name: str, padding: Mapping[str, Padding], spec: ArraySpec, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the value with which an array is padded, or one for each number of its rows.

    Raises:
        ConfigurationError: it is a fraction, and the array has integers; or there are other numbers than in a row.
    """
    value = np.asarray(padding.get(name, 0), np.float64)
    if value.shape not in ((), spec.row_shape):
        raise ConfigurationError(
            f"array_padding: expected a number or {list(spec.row_shape)} of them for '{name}', found "
            f"{list(value.shape)}"
        )
    if np.dtype(dtype).kind != "f" and (value != np.trunc(value)).any():
        raise ConfigurationError(f"array_padding: array '{name}' has integers, found {padding[name]}")
    return value.astype(dtype)


def check_padding(padding: Mapping[str, Padding], arrays: Sequence[str]) -> None:
    """Check that padding is for arrays of the batch.

    Raises:
        ConfigurationError: it is for another array.
    """
    for name in padding:
        if name not in arrays:
            raise ConfigurationError(f"array_padding: '{name}' is none of arrays={tuple(arrays)!r}")


def pad_spectrograms(
    spectrograms: Sequence[npt.ArrayLike],
    pad_value: npt.ArrayLike = 0.0,
    time_major: bool = False,
    dtype: npt.DTypeLike = np.float32,
    pad_to_multiple: int = 1,
    buffers: Buffers = FreshBuffers(),
) -> tuple[npt.NDArray[Any], Lengths]:
    """Pad spectrograms, each [F, T], to [B, F, T]; with `time_major` each [T, F] to [B, T, F].

    Spectrograms may have a leading axis of channels: [C, F, T] becomes [B, C, F, T].

    Args:
        spectrograms: at least one.
        pad_value: a number, or one per bin, [F].
        time_major: the spectrograms, and so the batch, have time before frequency.
        dtype: the dtype of the batch.
        pad_to_multiple: pad to a multiple of this length.
        buffers: the allocator of the batch.

    Returns:
        The batch, and the lengths in frames [B].

    Raises:
        ConfigurationError: there are no spectrograms, or their numbers of bins or channels differ.
    """
    pad = np.asarray(pad_value)
    if pad.ndim and not time_major:
        pad = pad[:, np.newaxis]
    check_axes(spectrograms, 2, 3)
    return pad_sequences(spectrograms, pad, dtype, -2 if time_major else -1, pad_to_multiple, buffers)


def check_axes(sequences: Sequence[npt.ArrayLike], *expected: int) -> None:
    """Check that each sequence has one of the expected numbers of axes."""
    for i, sequence in enumerate(sequences):
        if np.ndim(sequence) not in expected:
            axes = " or ".join(map(str, expected))
            raise ConfigurationError(f"sequence {i} of the batch: expected {axes} axes, found {np.ndim(sequence)}")
