"""The data of a report, computed from the index and the arrays of a store."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.checks.detection import Suspects, suspects
from tts_prep.checks.index_columns import NAMES, holds_measures
from tts_prep.checks.measuring import measure
from tts_prep.checks.output import write_csv
from tts_prep.format.records.failures import Failure, read_failures
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.loader import CategoryValues, UtteranceDataset
from tts_prep.loader.randomness import permutation
from tts_prep.report.columns import NumberColumn, number_columns
from tts_prep.report.coverage import Coverage, cover
from tts_prep.report.policies import PolicyCost, default_budget, make_policies, policy_cost
from tts_prep.report.speakers import Speakers, speaker_table

_BATCH_SIZES = (16, 32, 64)

MAX_BYTES = 12_000_000_000
"""The maximum size of mels and waveforms to read; in a larger store, evenly spaced utterances are measured."""


@dataclass(frozen=True)
class Category:
    """The values of a categorical column, sorted by decreasing duration.

    Attributes:
        name: the name of the column.
        values: name, number of utterances and seconds of each value that occurs.
    """

    name: str
    values: tuple[tuple[str, int, float], ...]


@dataclass(frozen=True, eq=False)
class Summary:
    """The data of a report.

    Attributes:
        dataset: all utterances of the store.
        manifest: the manifest of the store.
        checked: the measured utterances: all of them, or evenly spaced ones.
        suspects: the suspects among `checked`.
        columns: the numeric columns of `checked`.
        speakers: the speakers of `checked`, sorted by decreasing duration.
        categories: the categorical columns except the speaker.
        coverage: counts of symbols, diphones and words.
        failed: the rows of the corpus that failed.
        policies: the costs of batching policies.
        gallery: positions in `checked` of a random sample.
        seconds: the total duration of audio.
    """

    dataset: UtteranceDataset
    manifest: Manifest
    checked: UtteranceDataset
    suspects: Suspects
    columns: tuple[NumberColumn, ...]
    speakers: Speakers
    categories: tuple[Category, ...]
    coverage: Coverage
    failed: tuple[Failure, ...]
    policies: tuple[PolicyCost, ...]
    gallery: tuple[int, ...]
    seconds: float


def summarise(store: Path, *, gallery: int = 12, seed: int = 0, max_bytes: int = MAX_BYTES) -> Summary:
    """Compute the data of a report.

    Args:
        store: the path of the store.
        gallery: the number of randomly chosen utterances to show.
        seed: the seed of the gallery.
        max_bytes: the maximum size of mels and waveforms to read.

    Raises:
        StoreError: the store is missing or incomplete.
        CorruptStoreError: a file does not match the manifest or the format.
    """
    manifest = read_manifest(store)
    dataset = UtteranceDataset(store)
    # Measures in the index do not need arrays.
    checked = dataset if holds_measures(dataset) else dataset[:: max(1, math.ceil(_array_bytes(dataset) / max_bytes))]
    found = suspects(measure(checked))
    flagged = np.zeros(len(checked), bool)
    flagged[found.positions] = True
    columns = tuple(number_columns(found.measures))
    positions = permutation(len(checked), seed, 0, 0) if len(checked) else np.empty(0, np.int64)
    return Summary(
        dataset=dataset,
        manifest=manifest,
        checked=checked,
        suspects=found,
        columns=columns,
        speakers=speaker_table(checked, columns, flagged),
        categories=_categories(dataset),
        coverage=cover(dataset),
        failed=tuple(read_failures(store, manifest.failures.rows)),
        policies=_policies(dataset),
        gallery=tuple(int(position) for position in positions[:gallery]),
        seconds=float(np.asarray(dataset.seconds, float).sum()),
    )


def stages(failed: tuple[Failure, ...]) -> list[tuple[str, int]]:
    """Return the stages of failures with their counts, sorted by decreasing count."""
    return Counter(row.stage for row in failed).most_common()


def _array_bytes(dataset: UtteranceDataset) -> int:
    frames = int(np.asarray(dataset.n_frames).sum(dtype=np.int64)) * dataset.n_mels * 4
    samples = int(np.asarray(dataset.n_samples).sum(dtype=np.int64)) * 2 if dataset.has_waveform else 0
    return frames + samples


def _categories(dataset: UtteranceDataset) -> tuple[Category, ...]:
    seconds: npt.NDArray[np.float64] = np.asarray(dataset.seconds, float)
    names = [name for name in dataset.columns if isinstance(dataset.column(name), CategoryValues)]
    found = []
    for name in sorted({*names} - {"speaker"}):
        values: Any = dataset.column(name)
        codes = values.checked_codes()
        counts = np.bincount(codes, minlength=len(values.table))
        sums = np.bincount(codes, weights=seconds, minlength=len(values.table))
        order = [int(code) for code in np.argsort(-sums, kind="stable") if counts[code]]
        found.append(Category(name, tuple((values.table[i], int(counts[i]), float(sums[i])) for i in order)))
    return tuple(found)


def _policies(dataset: UtteranceDataset) -> tuple[PolicyCost, ...]:
    if not len(dataset):
        return ()
    # A batch of all utterances is not informative.
    sizes = [size for size in _BATCH_SIZES if 2 * size <= len(dataset)] or [-(-len(dataset) // 2)]
    # Each budget corresponds to one of the batch sizes on average, so that the policies are comparable.
    budgets = sorted({default_budget(dataset, size) for size in sizes})
    policies = make_policies(dataset, sizes, budgets)
    return tuple(policy_cost(dataset, policy) for policy in policies)


_NOT_SHOWN = ("shard", "seconds", *NAMES)
"""Columns of storage locations, and those that the measures repeat."""


def write_table(summary: Summary, path: Path) -> None:
    """Write one row per measured utterance: the columns of the index, measures, and reasons; see `write_csv`.

    Raises:
        WriteError: the file cannot be written.
    """
    dataset = summary.checked
    names = [name for name in dataset.columns if name not in _NOT_SHOWN and not name.endswith("_start")]
    names.sort(key=lambda name: (name != "id", name != "speaker", name))
    others = [column for column in summary.columns if column.unit or column.key not in names]
    numbers = {f"{column.key} ({column.unit})": column.values for column in others}
    write_csv(summary.suspects, path, {name: dataset.column(name) for name in names}, numbers)
