"""Checks that the utterances and arrays of several stores can be batched together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.dataset.metadata import OF_RECORDINGS, StoreMetadata

_OF_VALUES = ("of", "unit", "unvoiced")
"""Settings of added arrays that affect what a value means, not how it is found: stores must not differ in them."""


def check_agreement(stores: Sequence[StoreMetadata], names: Sequence[str]) -> None:
    """Check that utterances of several stores can be batched together: equal mel settings and vocabulary.

    Args:
        stores: at least one.
        names: the name of each store in error messages.

    Raises:
        ConfigurationError: the stores differ; the message lists the differences.
    """
    for store, name in zip(stores[1:], names[1:], strict=True):
        if differences := _differences(stores[0], store):
            raise ConfigurationError(f"{names[0]} and {name} cannot be mixed: {'; '.join(differences)}")


def _differences(a: StoreMetadata, b: StoreMetadata) -> list[str]:
    if a is b or a.agreement == b.agreement:
        return []
    differences = [
        f"{name} is {getattr(a, name)} in one and {getattr(b, name)} in the other"
        for name in ("sample_rate", "hop_length", "n_mels", "pad_id")
        if getattr(a, name) != getattr(b, name)
    ]
    for name in sorted({*a.audio_settings, *b.audio_settings}.difference(OF_RECORDINGS)):
        one, other = a.audio_settings.get(name), b.audio_settings.get(name)
        if one != other and name not in ("sample_rate", "hop_length", "n_mels"):
            differences.append(f"audio.{name} is {one} in one and {other} in the other")
    if not differences and not np.array_equal(a.silence, b.silence):
        differences.append("their mel frames of silence differ")
    if a.symbols != b.symbols:
        differences.append(f"their vocabularies of {len(a.symbols)} and {len(b.symbols)} symbols differ")
    return differences


def _of_model(spec: ArraySpec, key: str) -> Any:
    """Return what an array was made with, if a model has made it."""
    model = spec.settings.get("model")
    return model.get(key) if isinstance(model, Mapping) else None


def check_array_agreement(name: str, specs: Sequence[ArraySpec], names: Sequence[str]) -> None:
    """Check that an array of several stores can be batched together: equal axis, rows and kind of values.

    Args:
        name: the name of the array.
        specs: the specification in each store, at least one.
        names: the name of each store in error messages.

    Raises:
        ConfigurationError: the stores differ; the message lists the differences.
    """
    first = specs[0]
    for spec, other in zip(specs[1:], names[1:], strict=True):
        if spec is first:
            continue
        pairs = {
            "axis": (first.axis, spec.axis),
            "row_shape": (list(first.row_shape), list(spec.row_shape)),
            "dtype": (first.dtype, spec.dtype),
            **{key: (first.settings.get(key), spec.settings.get(key)) for key in _OF_VALUES},
            **{key: (_of_model(first, key), _of_model(spec, key)) for key in ("function", "settings", "weights")},
        }
        if first.numpy_dtype.kind == spec.numpy_dtype.kind:
            del pairs["dtype"]
        differences = [f"{key} is {a} in one and {b} in the other" for key, (a, b) in pairs.items() if a != b]
        if differences:
            raise ConfigurationError(
                f"array '{name}' of {names[0]} and {other} cannot be mixed: {'; '.join(differences)}"
            )
