"""Parakeet's functions that pad ids, waveforms and spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.loader.batching.padding import check_axes, pad_sequences, pad_spectrograms


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
