"""Padding of the arrays that a store has beside mel, phonemes and waveform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.datasets import Array
from tts_prep.loader.batching.buffers import Buffers
from tts_prep.loader.batching.padding import Lengths, fill


def pad_arrays(
    arrays: Mapping[str, Sequence[Array]],
    specs: Mapping[str, ArraySpec],
    size: int,
    lengths: Mapping[str, int],
    buffers: Buffers,
) -> tuple[dict[str, Array], dict[str, Lengths]]:
    """Return arrays padded with zeros, and the lengths of those with rows of their own.

    Integers become int64, as embeddings take them, and other numbers float32.

    Args:
        arrays: name → one array an utterance.
        specs: of all of them.
        size: rows of the batch; utterances that are missing are all zeros.
        lengths: axis → the padded length of what it follows.

    Raises:
        ConfigurationError: an array follows the waveform, and the batch has none.
    """
    padded: dict[str, Array] = {}
    own: dict[str, Lengths] = {}
    for name, values in arrays.items():
        spec = specs[name]
        dtype = np.float32 if np.dtype(spec.dtype).kind == "f" else np.int64
        if spec.axis == "sample" and not lengths["sample"]:
            raise ConfigurationError(f"array '{name}' follows the waveform; give waveform=True")
        if spec.axis == "utterance":
            batch = buffers.take((size, *spec.row_shape), dtype)
            batch[: len(values)] = values
            batch[len(values) :] = 0
            padded[name] = batch
            continue
        padded[name], found = fill(values, size, lengths.get(spec.axis, 0), 0, dtype, buffers)
        if spec.axis == "own":
            own[name] = found
    return padded, own
