"""Outputs of a batch in one padded array, with the number of rows of each utterance beside it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from tts_prep.errors import FeatureError
from tts_prep.format.layout import OWN, UTTERANCE
from tts_prep.format.records.arrays import ArraySpec


def lengths_name(spec: ArraySpec) -> str:
    """Return the name of an array's lengths in a dict of outputs; empty for one row of each utterance."""
    return "" if spec.axis == UTTERANCE else f"{spec.name}_lengths"


def values_and_lengths(spec: ArraySpec, output: Any, beside: Any) -> tuple[Any, Any]:
    """Return the values of a batch and the lengths beside them, None without any.

    Args:
        output: the values, or a tuple of one array of a batch and the lengths of its rows.
        beside: the lengths in the dict of outputs, or None.
    """
    is_pair = isinstance(output, tuple) and len(output) == 2 and spec.axis != UTTERANCE
    # An array with an axis more than that of an utterance cannot be one of two utterances.
    if beside is None and is_pair and getattr(output[0], "ndim", 0) == len(spec.row_shape) + 2:
        return output[0], output[1]
    return output, beside


def without_padding(name: str, values: Sequence[Any], lengths: Any) -> list[Any]:
    """Return the rows of each utterance without those of padding.

    Raises:
        FeatureError: there is not one whole number of rows for each utterance.
    """
    if not hasattr(lengths, "__len__") or len(lengths) != len(values):
        found = len(lengths) if hasattr(lengths, "__len__") else type(lengths).__name__
        raise FeatureError(f"'{name}': expected {len(values)} lengths, one for each utterance, found {found}")
    rows = []
    for value, length in zip(values, lengths, strict=True):
        try:
            n_rows = operator.index(length)
        except TypeError:
            raise FeatureError(f"'{name}': lengths: expected whole numbers of rows, found {length}") from None
        if not 0 <= n_rows <= len(value):
            raise FeatureError(f"'{name}': lengths: expected 0 to {len(value):,} rows, as there are, found {n_rows:,}")
        rows.append(value[:n_rows])
    return rows


def fault_of_padding(spec: ArraySpec, values: Any, lengths: Sequence[Mapping[str, int]]) -> str:
    """Return why the rows of utterances in one array without lengths are unknown; empty if they are not.

    Args:
        lengths: the number of rows of each utterance by axis.
    """
    is_one_array = spec.axis == OWN and getattr(values, "ndim", 1) > 1
    if not is_one_array or all(of_utterance == lengths[0] for of_utterance in lengths):
        return ""
    return (
        f"array '{spec.name}': found one array {list(values.shape)} for {len(lengths)} utterances of different "
        f"lengths, so that it may be padded; return its lengths, too, as (values, lengths) or as "
        f"'{lengths_name(spec)}', or a list of one array for each utterance"
    )
