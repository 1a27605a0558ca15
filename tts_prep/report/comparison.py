"""Comparison of two stores: settings, utterances, texts, mels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.diff.stores import StoreDifference, compare_stores
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.store import Store
from tts_prep.report.summary import Summary

_MAX_EXAMPLES = 20
_MAX_MELS = 1_000
"""The maximum number of utterances whose mels are compared."""


@dataclass(frozen=True)
class Difference:
    """Common utterances of two stores that differ in one attribute.

    Attributes:
        name: the name of the attribute.
        count: the number of utterances.
        examples: id, value in the first store, and value in the second store.
    """

    name: str
    count: int
    examples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of two stores.

    Attributes:
        first, second: the summaries of the stores.
        stores: what `tts-prep diff` says of them.
        only_suspect: ids of common utterances that are suspect in the first store only, and in the second store only.
        differences: the differences of common utterances.
        symbols: the symbols that are only in the first, and only in the second vocabulary.
        n_mels_compared: the number of utterances whose mels were compared, evenly spaced among those with equal numbers
            of frames.
        mel_difference: the largest absolute difference of mel values, or None if no mels can be compared.
    """

    first: Summary
    second: Summary
    stores: StoreDifference
    only_suspect: tuple[tuple[str, ...], tuple[str, ...]]
    differences: tuple[Difference, ...]
    symbols: tuple[tuple[str, ...], tuple[str, ...]]
    n_mels_compared: int
    mel_difference: float | None


def compare(first: Summary, second: Summary) -> Comparison:
    """Compare two stores: settings by name, utterances by id."""
    one, two = first.dataset, second.dataset
    ids, others = {id_: i for i, id_ in enumerate(one.id)}, {id_: i for i, id_ in enumerate(two.id)}
    common = [id_ for id_ in ids if id_ in others]
    a, b = one.select([ids[id_] for id_ in common]), two.select([others[id_] for id_ in common])
    n_compared, difference = _mel_difference(a, b)
    return Comparison(
        first=first,
        second=second,
        stores=compare_stores(Store(one.path), Store(two.path)),
        only_suspect=(_only_suspect(first, second), _only_suspect(second, first)),
        differences=tuple(_differences(a, b, common)),
        symbols=(_missing(one.symbols, two.symbols), _missing(two.symbols, one.symbols)),
        n_mels_compared=n_compared,
        mel_difference=difference,
    )


def _only_suspect(summary: Summary, other: Summary) -> tuple[str, ...]:
    fine = {*other.checked.id} - {*other.suspects.ids}
    return tuple(id_ for id_ in summary.suspects.ids if id_ in fine)


def _differences(a: UtteranceDataset, b: UtteranceDataset, ids: Sequence[str]) -> Iterator[Difference]:
    texts = (("text", a.text, b.text), ("phonemes", a.phoneme_text, b.phoneme_text), ("speaker", a.speaker, b.speaker))
    for name, one, two in texts:
        found = [(id_, x, y) for id_, x, y in zip(ids, one, two, strict=True) if x != y]
        yield Difference(name, len(found), tuple(found[:_MAX_EXAMPLES]))
    seconds, others = np.asarray(a.seconds, float), np.asarray(b.seconds, float)
    # Resampling moves the end by less than a sample of the lower rate.
    apart = np.flatnonzero(np.abs(seconds - others) > 1e-3)
    lengths = [(ids[i], f"{seconds[i]:.3f} s", f"{others[i]:.3f} s") for i in apart[:_MAX_EXAMPLES].tolist()]
    yield Difference("length", len(apart), tuple(lengths))


def _mel_difference(a: UtteranceDataset, b: UtteranceDataset) -> tuple[int, float | None]:
    if a.n_mels != b.n_mels:
        return 0, None
    same: npt.NDArray[np.int64] = np.flatnonzero(np.asarray(a.n_frames) == np.asarray(b.n_frames))
    chosen = same[:: max(1, -(-len(same) // _MAX_MELS))]
    pairs = zip(a.select(chosen).views("mel"), b.select(chosen).views("mel"), strict=True)
    largest = [float(np.abs(x - y).max(initial=0)) for x, y in pairs]
    return len(chosen), max(largest) if largest else None


def _missing(symbols: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(symbol for symbol in symbols if symbol not in known)
