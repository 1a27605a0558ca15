"""The data of a report, from the index and the arrays of a store, and the coverage of texts and phonemes."""

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.symbols import PHONE, is_pause, symbol_kinds
from tts_prep.checks.detection import Suspects, suspects, write_csv
from tts_prep.checks.measuring import NAMES, holds_measures, measure
from tts_prep.errors import broken
from tts_prep.format.records.failures import Failure, read_failures
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.loader import CategoryValues, UtteranceDataset
from tts_prep.loader.randomness import permutation
from tts_prep.progress import ShowProgress, in_notebooks
from tts_prep.report.columns import NumberColumn, number_columns
from tts_prep.report.policies import PolicyCost, default_budget, make_policies, policy_cost
from tts_prep.report.speakers import Speakers, speaker_table

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Coverage:
    """Counts of symbols, diphones and words.

    Attributes:
        symbol_counts: [n_symbols] int64, by id.
        never_seen: symbols that do not occur, without padding and symbols that are shadowed by a later id.
        phones: ids of the phones that occur.
        diphone_counts: [n_phones, n_phones] int64, first phone by second, in the order of `phones`. Stress and length
            marks between two phones are ignored; pauses separate them.
        word_counts: counts of words, or of characters in scripts without spaces between words.
        word_unit: "words" or "characters".
    """

    symbol_counts: npt.NDArray[np.int64]
    never_seen: tuple[str, ...]
    phones: tuple[int, ...]
    diphone_counts: npt.NDArray[np.int64]
    word_counts: Counter[str]
    word_unit: str


def cover(dataset: UtteranceDataset) -> Coverage:
    """Count the symbols, diphones and words of a dataset.

    Raises:
        CorruptStoreError: a phoneme id is not in the vocabulary.
    """
    n = len(dataset.symbols)
    phone = symbol_kinds(dataset.symbols, dataset.pad_id) == PHONE
    pause = np.array([is_pause(symbol) for symbol in dataset.symbols], bool)
    # Other symbols (stress, length, tones, spaces) do not separate phones.
    place = np.full(n, -1, np.int64)
    place[phone] = np.arange(phone.sum())
    n_phones = int(phone.sum())
    counts = np.zeros(n, np.int64)
    pairs = np.zeros(n_phones**2, np.int64)
    for start in range(0, len(dataset), _AT_A_TIME):
        texts = dataset[start : start + _AT_A_TIME].views("phonemes")
        ids = np.concatenate([*texts, np.empty(0, np.int32)], dtype=np.int64, casting="same_kind")
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < n:
            raise broken(f"{dataset.path}: a phoneme id is not in the vocabulary")
        counts += np.bincount(ids, minlength=n)
        kept = phone[ids] | pause[ids]
        places, utterances = place[ids[kept]], np.repeat(np.arange(len(texts)), [*map(len, texts)])[kept]
        first, second = places[:-1], places[1:]
        both = (first >= 0) & (second >= 0) & (utterances[:-1] == utterances[1:])
        pairs += np.bincount(first[both] * n_phones + second[both], minlength=n_phones**2)
    used = np.flatnonzero(phone & (counts > 0))
    square = pairs.reshape(n_phones, n_phones)[np.ix_(place[used], place[used])]
    in_use = {symbol: number for number, symbol in enumerate(dataset.symbols)}
    never = tuple(symbol for symbol, number in in_use.items() if not counts[number] and number != dataset.pad_id)
    words, unit = _words(dataset)
    return Coverage(counts, never, tuple(used.tolist()), square, words, unit)


def _words(dataset: UtteranceDataset) -> tuple[Counter[str], str]:
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for text in dataset.text:
        words.update(_WORD.findall(text.casefold()))
        if not text.isascii():
            characters.update(text)
    ideographs = Counter({c: k for c, k in characters.items() if _has_no_spaces(c)})
    if ideographs.total() > sum(len(word) * k for word, k in words.items()) / 2:
        return ideographs, "characters"
    return words, "words"


def _has_no_spaces(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words: Chinese, Japanese, Thai."""
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "THAI ")
    )


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


def summarise(
    store: Path, *, gallery: int = 12, seed: int = 0, max_bytes: int = MAX_BYTES, progress: ShowProgress = in_notebooks
) -> Summary:
    """Compute the data of a report.

    Args:
        store: the path of the store.
        gallery: the number of randomly chosen utterances to show.
        seed: the seed of the gallery.
        max_bytes: the maximum size of mels and waveforms to read.
        progress: called with the progress of the measures.

    Raises:
        StoreError: the store is missing or incomplete.
        CorruptStoreError: a file does not match the manifest or the format.
    """
    manifest = read_manifest(store)
    dataset = UtteranceDataset(store)
    # Measures in the index do not need arrays.
    checked = dataset if holds_measures(dataset) else dataset[:: max(1, math.ceil(_array_bytes(dataset) / max_bytes))]
    found = suspects(measure(checked, progress=progress))
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
