"""The numbers of a report, counted from the store's index and arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import CorruptStoreError
from tts_prep.format.failures import LeftOut, read_failures
from tts_prep.format.manifest import Manifest, read_manifest
from tts_prep.loader import CategoryValues, UtteranceDataset
from tts_prep.loader.randomness import permutation
from tts_prep.report.levels import Levels, measure_levels
from tts_prep.report.policies import PolicyCost, default_budget, make_policies, policy_cost

_OUTLIERS = 4
"""Utterances of each kind of outlier."""

_BATCH_SIZES = (16, 32, 64)


@dataclass(frozen=True)
class Category:
    """How the corpus divides into the values of a categorical column, most hours first.

    Attributes:
        name: of the column.
        values: name, utterances and seconds of each value that occurs.
    """

    name: str
    values: tuple[tuple[str, int, float], ...]


@dataclass(frozen=True)
class Outliers:
    """Utterances at an end of some scale, the furthest first.

    Attributes:
        name: what they are: "longest".
        unit: of the values.
        values: position in the dataset, and value.
    """

    name: str
    unit: str
    values: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Summary:
    """All that a report says in numbers.

    Attributes:
        dataset: the whole store.
        manifest: what the store says of itself.
        measures: name and unit → [n] values: seconds, mel frames, phonemes, phonemes a second; the last two where
            there are phonemes.
        categories: one for each categorical column.
        outliers: one for each kind.
        levels: how loud each utterance is.
        symbol_counts: [n_symbols] int64, how often each id of the vocabulary occurs.
        never_seen: symbols of the vocabulary that do not occur, padding and symbols shadowed by a later id left out.
        left_out: the rows of the corpus that became no utterance.
        policies: what batches cost.
        gallery: positions of utterances drawn at random.
    """

    dataset: UtteranceDataset
    manifest: Manifest
    measures: Mapping[tuple[str, str], npt.NDArray[np.float64]]
    categories: tuple[Category, ...]
    outliers: tuple[Outliers, ...]
    levels: Levels
    symbol_counts: npt.NDArray[np.int64]
    never_seen: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    policies: tuple[PolicyCost, ...]
    gallery: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """Length of all audio."""
        return float(self.measures["Length", "s"].sum())


def summarise(store: Path, *, gallery: int = 12, seed: int = 0) -> Summary:
    """Count everything that a report shows.

    Args:
        gallery: number of utterances to show, drawn at random.
        seed: of the gallery.

    Raises:
        StoreError: there is no whole store.
        CorruptStoreError: a file of it is not what the manifest or the format says.
    """
    manifest = read_manifest(store)
    dataset = UtteranceDataset(store)
    seconds = np.asarray(dataset.seconds, float)
    phonemes = np.asarray(dataset.n_phonemes, float)
    rate = np.divide(phonemes, seconds, out=np.zeros_like(phonemes), where=seconds > 0)
    measures: dict[tuple[str, str], npt.NDArray[np.float64]] = {
        ("Length", "s"): seconds,
        ("Mel frames", "frames"): np.asarray(dataset.n_frames, float),
    }
    if phonemes.any() or not len(dataset):
        measures |= {("Phonemes", "phonemes"): phonemes, ("Speaking rate", "phonemes / s"): rate}
    levels = measure_levels(dataset)
    counts = _symbol_counts(dataset)
    positions = permutation(len(dataset), seed, 0, 0) if len(dataset) else np.empty(0, np.int64)
    return Summary(
        dataset=dataset,
        manifest=manifest,
        measures=measures,
        categories=_categories(dataset, seconds),
        outliers=_outliers(seconds, rate, levels),
        levels=levels,
        symbol_counts=counts,
        never_seen=_never_seen(dataset, counts),
        left_out=tuple(read_failures(store, manifest.failures.rows)),
        policies=_policies(dataset),
        gallery=tuple(int(position) for position in positions[:gallery]),
    )


def reasons(left_out: tuple[LeftOut, ...]) -> list[tuple[str, int]]:
    """Return the stages at which rows were left out, with their numbers, the most frequent first."""
    return Counter(row.stage for row in left_out).most_common()


def _categories(dataset: UtteranceDataset, seconds: npt.NDArray[np.float64]) -> tuple[Category, ...]:
    names = [name for name in dataset.columns if isinstance(dataset.column(name), CategoryValues)]
    # Speakers first: every corpus has them.
    names.sort(key=lambda name: (name != "speaker", name))
    found = []
    for name in names:
        values: Any = dataset.column(name)
        codes = values.checked_codes()
        counts = np.bincount(codes, minlength=len(values.table))
        sums = np.bincount(codes, weights=seconds, minlength=len(values.table))
        order = [int(code) for code in np.argsort(-sums, kind="stable") if counts[code]]
        found.append(Category(name, tuple((values.table[i], int(counts[i]), float(sums[i])) for i in order)))
    return tuple(found)


def _outliers(seconds: npt.NDArray[np.float64], rate: npt.NDArray[np.float64], levels: Levels) -> tuple[Outliers, ...]:
    everything = np.arange(len(seconds))
    rates = (("fastest", 1), ("slowest", -1)) if rate.any() else ()
    kinds = [
        _ends("longest", "s", everything, seconds, 1),
        _ends("shortest", "s", everything, seconds, -1),
        *(_ends(name, "phonemes / s", everything, rate, sign) for name, sign in rates),
        _ends("quietest", levels.unit, levels.positions, levels.level, -1),
    ]
    if levels.clipped is not None:
        found = levels.clipped > 0
        kinds.append(_ends("clipped", "samples", levels.positions[found], levels.clipped[found].astype(np.float64), 1))
    return tuple(kinds)


def _ends(
    name: str, unit: str, positions: npt.NDArray[np.int64], values: npt.NDArray[np.float64], sign: int
) -> Outliers:
    order = np.argsort(-sign * values, kind="stable")[:_OUTLIERS]
    return Outliers(name, unit, tuple((int(positions[i]), float(values[i])) for i in order))


def _symbol_counts(dataset: UtteranceDataset) -> npt.NDArray[np.int64]:
    counts = np.zeros(len(dataset.symbols), np.int64)
    for ids in dataset.views("phonemes"):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(counts):
            raise CorruptStoreError(f"{dataset.path}: a phoneme id is not in the vocabulary; run 'tts-prep verify'")
        counts += np.bincount(ids, minlength=len(counts))
    return counts


def _never_seen(dataset: UtteranceDataset, counts: npt.NDArray[np.int64]) -> tuple[str, ...]:
    in_use = {symbol: number for number, symbol in enumerate(dataset.symbols)}
    return tuple(symbol for symbol, number in in_use.items() if not counts[number] and number != dataset.pad_id)


def _policies(dataset: UtteranceDataset) -> tuple[PolicyCost, ...]:
    if not len(dataset):
        return ()
    # A batch of everything says nothing about a policy.
    sizes = [size for size in _BATCH_SIZES if 2 * size <= len(dataset)] or [-(-len(dataset) // 2)]
    # Each budget is as many frames as one of the counts has on average, so that the policies can be compared.
    budgets = sorted({default_budget(dataset, size) for size in sizes})
    policies = make_policies(dataset, sizes, budgets)
    return tuple(policy_cost(dataset, policy) for policy in policies)
