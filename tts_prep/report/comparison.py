"""Comparison of two stores: settings, utterances, texts, mels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tts_prep.diff.stores import StoreDifference, compare_stores
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.store import Store
from tts_prep.report.summary import Summary

_MAX_EXAMPLES = 20

Difference = tuple[str, int, list[tuple[str, str, str]]]
"""An attribute, the number of common utterances that differ in it, and examples: id, and both values."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of two stores.

    Attributes:
        first, second: the summaries of the stores.
        stores: what `tts-prep diff` says of them.
        only_suspect: ids of common utterances that are suspect in the first store only, and in the second store only.
        differences: the differences of common utterances.
        symbols: the symbols that are only in the first, and only in the second vocabulary.
    """

    first: Summary
    second: Summary
    stores: StoreDifference
    only_suspect: tuple[tuple[str, ...], tuple[str, ...]]
    differences: tuple[Difference, ...]
    symbols: tuple[tuple[str, ...], tuple[str, ...]]


def compare(first: Summary, second: Summary) -> Comparison:
    """Compare two stores: settings by name, utterances by id."""
    one, two = first.dataset, second.dataset
    ids, others = {id_: i for i, id_ in enumerate(one.id)}, {id_: i for i, id_ in enumerate(two.id)}
    common = [id_ for id_ in ids if id_ in others]
    a, b = one.select([ids[id_] for id_ in common]), two.select([others[id_] for id_ in common])
    return Comparison(
        first=first,
        second=second,
        stores=compare_stores(Store(one.path), Store(two.path)),
        only_suspect=(_only_suspect(first, second), _only_suspect(second, first)),
        differences=tuple(_differences(a, b, common)),
        symbols=(_missing(one.symbols, two.symbols), _missing(two.symbols, one.symbols)),
    )


def _only_suspect(summary: Summary, other: Summary) -> tuple[str, ...]:
    fine = {*other.checked.id} - {*other.suspects.ids}
    return tuple(id_ for id_ in summary.suspects.ids if id_ in fine)


def _differences(a: UtteranceDataset, b: UtteranceDataset, ids: Sequence[str]) -> Iterator[Difference]:
    texts = (("text", a.text, b.text), ("phonemes", a.phoneme_text, b.phoneme_text), ("speaker", a.speaker, b.speaker))
    for name, one, two in texts:
        found = [(id_, x, y) for id_, x, y in zip(ids, one, two, strict=True) if x != y]
        yield name, len(found), found[:_MAX_EXAMPLES]


def _missing(symbols: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(symbol for symbol in symbols if symbol not in known)
