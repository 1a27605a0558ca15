"""Padding of arrays other than mel, phonemes and waveform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.batching.buffers import Buffers
from tts_prep.loader.batching.padding import Lengths, fill


def pad_arrays(
    arrays: Mapping[str, Sequence[Array]],
    specs: Mapping[str, ArraySpec],
    size: int,
    lengths: Mapping[str, int],
    buffers: Buffers,
) -> tuple[dict[str, Array], dict[str, Lengths]]:
    """Pad arrays with zeros. Return also the lengths of those with an axis of their own.

    Integers become int64, as embeddings require, and other numbers float32.

    Args:
        arrays: the arrays of all utterances by name.
        specs: the specification of each array by name.
        size: the number of rows of the batch; rows without an utterance are zeros.
        lengths: the padded length of each axis.

    Raises:
        ConfigurationError: an array has one row per sample, and the batch has no waveform.
    """
    padded: dict[str, Array] = {}
    own: dict[str, Lengths] = {}
    for name, values in arrays.items():
        spec = specs[name]
        dtype = np.float32 if np.dtype(spec.dtype).kind == "f" else np.int64
        if spec.axis == "sample" and not lengths["sample"]:
            raise ConfigurationError(f"array '{name}' has one row per sample; pass waveform=True")
        if spec.axis == "utterance":
            batch = buffers.take((size, *spec.row_shape), dtype)
            batch[: len(values)] = values
            batch[len(values) :] = 0
            padded[name] = batch
            continue
        padded[name], array_lengths = fill(values, size, lengths.get(spec.axis, 0), 0, dtype, buffers)
        if spec.axis == "own":
            own[name] = array_lengths
    return padded, own
