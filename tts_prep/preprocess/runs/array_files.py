"""The array files of one shard, made together with the shard or later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.errors import ConfigurationError, CorruptStoreError, FeatureError, StoreError, UtteranceError
from tts_prep.format.contents.array_file import array_key, checked_values, inspect_array_file
from tts_prep.format.contents.array_writer import write_array_file
from tts_prep.format.contents.shard import CheckedShard, FindLocations
from tts_prep.format.hdf5.columns import TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, dataset_at, map_file
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.layout import AXES, FRAME, PHONEME, SAMPLE, array_file_name, shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.remarks import Remarks
from tts_prep.preprocess.audio.cleaning.config import TRIMMED_END, TRIMMED_START
from tts_prep.preprocess.audio.cleaning.trimming import Cut
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.features.feature import Feature, FeatureInput, FeatureValues
from tts_prep.preprocess.runs.cleaned import stored_cut

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class ShardRows:
    """Ids, speakers and lengths of the utterances of a finished shard, in order.

    Attributes:
        number, key: the number and the key of the shard.
        ids, speakers: the id and the speaker of each utterance.
        lengths: the number of rows of each utterance by axis.
    """

    number: int
    key: str
    ids: Sequence[str]
    speakers: Sequence[str]
    lengths: Mapping[str, Sequence[int]]

    def expected_lengths(self, axis: str) -> Sequence[int] | None:
        """Return the required number of rows of each utterance; None with the axes ``own`` and ``utterance``.

        Raises:
            FeatureError: the shard has no array of this axis.
        """
        if axis not in (FRAME, PHONEME, SAMPLE):
            return None
        if axis not in self.lengths:
            raise FeatureError("the axis 'sample' needs waveforms, but the store has none; prepare it with --waveform")
        return self.lengths[axis]


def specs_of(features: Sequence[Feature]) -> dict[str, ArraySpec]:
    """Return the specifications of the arrays of features by name.

    Raises:
        ConfigurationError: two features have an array of the same name.
    """
    specs: dict[str, ArraySpec] = {}
    for feature in features:
        for spec in feature.specs:
            if spec.name in specs:
                raise ConfigurationError(f"two features have an array '{spec.name}'; drop one of them")
            specs[spec.name] = spec.checked()
    return specs


def computed(feature: Feature, utterance: FeatureInput, lengths: Mapping[str, int]) -> FeatureValues:
    """Compute a feature of an utterance, and check its arrays against their specifications.

    Args:
        lengths: the number of rows of the utterance by axis.

    Raises:
        UtteranceError: the feature cannot be computed, or its arrays do not match the utterance.
    """
    values = feature.compute(utterance)
    for spec in feature.specs:
        if spec.name not in values.arrays:
            raise FeatureError(f"array '{spec.name}': the feature returned none")
        if spec.axis == SAMPLE and SAMPLE not in lengths:
            raise FeatureError(
                f"array '{spec.name}': the axis 'sample' needs waveforms, but the store has none; prepare it with "
                "--waveform int16"
            )
        checked_values(spec, values.arrays[spec.name], lengths.get(spec.axis))
    return values


def write_array_files(
    store: Path, rows: ShardRows, feature: Feature, values: Sequence[FeatureValues]
) -> dict[str, FileEntry]:
    """Write the array files of one feature and one shard; return their manifest entries by array name."""
    remarks = Remarks()
    for uid, of_utterance in zip(rows.ids, values, strict=True):
        for kind, what in of_utterance.remarks:
            remarks.add(kind, what, uid)
    entries = {}
    for spec in feature.specs:
        counted = [of_utterance.counted.get(spec.name) for of_utterance in values]
        entries[spec.name] = write_array_file(
            store,
            spec,
            rows.number,
            rows.key,
            _key(rows, feature, spec),
            [of_utterance.arrays[spec.name] for of_utterance in values],
            speakers=rows.speakers,
            lengths=rows.expected_lengths(spec.axis),
            counted=None if any(mask is None for mask in counted) else [mask for mask in counted if mask is not None],
            remarks=remarks.as_dict() if spec.name == feature.specs[0].name else None,
        )
    return entries


def existing_array_files(
    store: Path, rows: ShardRows, feature: Feature, shard: CheckedShard, find: FindLocations
) -> dict[str, FileEntry]:
    """Return the entries of a feature's array files that exist, are intact and have the expected key."""
    entries = {}
    for spec in feature.specs:
        name = array_file_name(spec.name, rows.number)
        if not (store / name).exists():
            continue
        try:
            checked = inspect_array_file(store / name, spec.name, rows.number, rows.key, shard.lengths(), find)
        except CorruptStoreError:
            continue
        if checked.header.key == _key(rows, feature, spec):
            entries[spec.name] = FileEntry(name, checked.digest.size, checked.header.rows, checked.digest.sha256)
    return entries


def complete_array_files(
    store: Path,
    shard: CheckedShard,
    features: Sequence[Feature],
    inputs: Callable[[StoredRows], Iterator[FeatureInput]],
) -> dict[str, FileEntry]:
    """Make the missing array files of a finished shard; return the entries of all of them.

    Args:
        inputs: yields the input of features for each utterance of the shard, in order.

    Raises:
        StoreError: a feature of an utterance cannot be computed; the message names the first such utterances.
    """
    if not features:
        return {}
    stored = StoredRows(store / shard_name(shard.header.number), shard)
    entries: dict[str, FileEntry] = {}
    missing = []
    with hdf5_process() as find:
        for feature in features:
            existing = existing_array_files(store, stored.rows, feature, shard, find)
            entries.update(existing)
            if len(existing) < len(feature.specs):
                missing.append(feature)
    if not missing:
        return entries
    values: list[list[FeatureValues]] = [[] for _ in missing]
    failures: list[str] = []
    for position, utterance in enumerate(inputs(stored)):
        lengths = {axis: of_axis[position] for axis, of_axis in stored.rows.lengths.items()}
        for feature, results in zip(missing, values, strict=True):
            if (fault := _try(feature, utterance, lengths, results)) is not None:
                failures.append(f"{utterance.id}: {fault}")
    if failures:
        names = ", ".join(f"'{name}'" for name in specs_of(missing))
        more = f"; and {len(failures) - _SHOWN:,} more in this shard" if len(failures) > _SHOWN else ""
        raise StoreError(
            f"{names} cannot be added, {len(failures):,} of the {len(stored.rows.ids):,} utterances of "
            f"{shard_name(shard.header.number)} fail: {'; '.join(failures[:_SHOWN])}{more}; nothing was changed: fix "
            "them, or make another store without them"
        )
    for feature, results in zip(missing, values, strict=True):
        entries.update(write_array_files(store, stored.rows, feature, results))
    return entries


def _try(
    feature: Feature, utterance: FeatureInput, lengths: Mapping[str, int], results: list[FeatureValues]
) -> UtteranceError | None:
    """Compute a feature of an utterance and append it to the results; return the error if it fails."""
    try:
        results.append(computed(feature, utterance, lengths))
    except UtteranceError as error:
        return error
    return None


class StoredRows:
    """The stored rows of a finished shard.

    Args:
        path: the path of the shard.
        shard: the checked shard.
    """

    def __init__(self, path: Path, shard: CheckedShard) -> None:
        self._file, self._shard = map_file(path), shard
        self._columns = column_datasets(shard.locations)
        lengths = {}
        for axis, columns in AXES.items():
            if columns and columns[1] in self._columns:
                lengths[axis] = self._numbers(columns[1]).tolist()
        header = shard.header
        self.rows = ShardRows(header.number, header.key, self.texts("id"), self.texts("speaker"), lengths)

    def texts(self, name: str) -> list[str]:
        """Return a column of texts."""
        column = column_of(self._file, self._columns[name])
        assert isinstance(column, TextColumn)
        return list(column)

    def cuts(self, sample_rate: int, *, trims: bool) -> list[Cut | None]:
        """Return what trimming kept of each recording.

        Args:
            trims: whether the store was made with trimming: its columns are the corpus's own otherwise.
        """
        if not trims:
            return [None] * len(self.rows.ids)
        starts, ends, kept = (self._numbers(name).tolist() for name in (TRIMMED_START, TRIMMED_END, "seconds"))
        return [stored_cut(*seconds, sample_rate) for seconds in zip(starts, ends, kept, strict=True)]

    def _numbers(self, name: str) -> Array:
        return self._file.dataset(self._columns[name][""])

    def array(self, name: str, axis: str) -> list[Array]:
        """Return an array stored in the shard, as one view per utterance."""
        columns = AXES[axis]
        assert columns is not None
        values = self._file.dataset(dataset_at(self._file.path, self._shard.locations, name))
        starts, lengths = (self._numbers(column).tolist() for column in columns)
        return [values[start : start + length] for start, length in zip(starts, lengths, strict=True)]


def check_arrays_of(store: Path, manifest: Manifest, features: Sequence[Feature]) -> None:
    """Check that a complete store has the arrays of features.

    Raises:
        StoreError: an array is missing, or has other settings.
    """
    for name, spec in specs_of(features).items():
        existing = manifest.specs.get(name)
        if existing is None:
            raise StoreError(
                f"{store}: a complete store without the array '{name}'; add it with 'tts-prep add {store}'"
            )
        check_same(store, existing, spec)


def check_same(store: Path, found: ArraySpec, spec: ArraySpec) -> None:
    """Check that an array of a store has the expected specification.

    Raises:
        StoreError: its dtype, row shape, axis or settings differ.
    """
    if found != spec:
        old, new = found.as_dict(), spec.as_dict()
        differing = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        shown = "; ".join(f"{key} is {_text(old.get(key))}, expected {_text(new.get(key))}" for key in differing)
        raise StoreError(
            f"{store}: has the array '{spec.name}' already, made with other settings: {shown}; choose another name, or "
            "make another store"
        )


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _key(rows: ShardRows, feature: Feature, spec: ArraySpec) -> str:
    sources = [feature.source(uid, speaker) for uid, speaker in zip(rows.ids, rows.speakers, strict=True)]
    return array_key(spec, rows.key, sources if any(source is not None for source in sources) else None)


@dataclass(frozen=True)
class StoredInputs:
    """Yields the inputs of features from stored arrays, without reading recordings.

    Attributes:
        trims: whether the store was made with trimming.
    """

    extractor: MelExtractor
    trims: bool

    def __call__(self, stored: StoredRows) -> Iterator[FeatureInput]:
        """Yield the input of features for each utterance."""
        rows = stored.rows
        phonemes, mels = stored.array("phonemes", PHONEME), stored.array("mel", FRAME)
        texts, phoneme_texts = stored.texts("text"), stored.texts("phoneme_text")
        waveforms = stored.array("waveform", SAMPLE) if SAMPLE in rows.lengths else None
        cuts = stored.cuts(self.extractor.config.sample_rate, trims=self.trims)
        for i, uid in enumerate(rows.ids):
            waveform = None if waveforms is None else waveforms[i]
            yield FeatureInput(
                *(uid, rows.speakers[i], texts[i], phoneme_texts[i]),
                np.asarray(phonemes[i]),
                len(mels[i]),
                self.extractor,
                _Kept(waveform),
                {"mel": mels[i]},
                cuts[i],
            )


@dataclass(frozen=True, eq=False)
class _Kept:
    """Returns the stored waveform as float32."""

    waveform: Array | None

    def __call__(self) -> Array:
        if self.waveform is None:
            raise FeatureError("the store has no waveforms; prepare it with --waveform int16")
        scale = np.float32(1 / 32768) if self.waveform.dtype == np.int16 else np.float32(1)
        return np.asarray(self.waveform * scale, np.float32)
