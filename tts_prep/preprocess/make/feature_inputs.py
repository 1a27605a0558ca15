"""The inputs of features for a finished shard: from its stored rows, and from the recordings if features need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tts_prep.errors import NO_WAVEFORMS, CorruptStoreError, FeatureError
from tts_prep.format.contents.array_file import inspect_array_file, own_columns
from tts_prep.format.contents.array_writer import ShardRows
from tts_prep.format.contents.shard import CheckedShard, inspect_shard
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import TextColumn, column_datasets, column_of
from tts_prep.format.hdf5.datasets import Array, dataset_at, map_file
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import AXES, FRAME, OWN, PHONEME, ROW_KEYS, SAMPLE, UTTERANCE, array_file_name, shard_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.cleaning import TRIMMED_END, TRIMMED_START, Cut
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.features.feature import FeatureInput
from tts_prep.preprocess.make.recordings import read_again, read_as, stored_cut
from tts_prep.preprocess.plan.shard_plans import PlannedUtterance
from tts_prep.preprocess.plan.shard_settings import ShardRecipe


def intact_shard(store: Path, number: int) -> CheckedShard:
    """Return a checked shard of a complete store.

    Raises:
        CorruptStoreError: it is broken; the message names the command that repairs it.
    """
    try:
        return inspect_shard(stored_file(store, shard_name(number)), number, read_locations)
    except CorruptStoreError as error:
        raise CorruptStoreError(f"{error}: 'tts-prep verify {store} --repair CORPUS'") from error


class StoredRows:
    """The stored rows of a finished shard.

    Args:
        store: the store.
        shard: the checked shard.
    """

    def __init__(self, store: Path, shard: CheckedShard) -> None:
        self._file, self._shard = map_file(store / shard_name(shard.number)), shard
        self._columns = column_datasets(shard.locations)
        lengths = {}
        for axis, columns in AXES.items():
            if columns and columns[1] in self._columns:
                lengths[axis] = self.numbers(columns[1]).tolist()
        header = shard.header
        ids, speakers = self.texts("id"), self.texts("speaker")
        self.header = header
        self.rows = ShardRows(shard.number, header.key, speakers, lengths, ids)

    @classmethod
    def read(cls, store: Path, number: int) -> StoredRows:
        """Return the rows of the shard with a number.

        Raises:
            CorruptStoreError: the shard is broken.
        """
        return cls(store, inspect_shard(stored_file(store, shard_name(number)), number, read_locations))

    def texts(self, name: str) -> list[str]:
        """Return a column of texts."""
        column = column_of(self._file, self._columns[name])
        assert isinstance(column, TextColumn)
        return list(column)

    def cuts(self, sample_rate: int) -> list[Cut]:
        """Return what trimming kept of each recording of a store that was made with trimming."""
        starts, ends, kept = (self.numbers(name).tolist() for name in (TRIMMED_START, TRIMMED_END, "seconds"))
        return [stored_cut(*seconds, sample_rate) for seconds in zip(starts, ends, kept, strict=True)]

    def array(self, name: str, axis: str) -> list[Array]:
        """Return an array stored in the shard, as one view per utterance."""
        columns = AXES[axis]
        assert columns is not None
        values = self._file.dataset(dataset_at(self._file.path, self._shard.locations, name))
        starts, lengths = (self.numbers(column).tolist() for column in columns)
        return [values[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    @property
    def row_keys(self) -> list[bytes]:
        """The keys of the rows; none before format 1.3."""
        place = self._shard.locations.get(ROW_KEYS)
        return [key.tobytes() for key in self._file.dataset(place)] if place else []

    def numbers(self, name: str) -> Array:
        """Return a column of numbers."""
        return self._file.dataset(self._columns[name][""])


def stored_values(store: Path, spec: ArraySpec, number: int, stored: StoredRows) -> Sequence[Array]:
    """Return the values of an added array for each row of a shard.

    Args:
        number: the number of the shard.
        stored: the rows of the shard.

    Raises:
        CorruptStoreError: the file is broken, or belongs to another shard or array.
    """
    path = stored_file(store, array_file_name(spec.name, number))
    totals = {UTTERANCE: len(stored.rows.ids), **{axis: sum(of_axis) for axis, of_axis in stored.rows.lengths.items()}}
    checked = inspect_array_file(path, spec.name, number, stored.rows.key, totals, read_locations)
    if checked.header.spec != spec:
        raise CorruptStoreError(f"{path}: made with other settings")
    values = map_file(path).dataset(dataset_at(path, checked.locations, spec.name))
    if spec.axis == UTTERANCE:
        return list(values)
    if spec.axis == OWN:
        starts, lengths = (column.tolist() for column in own_columns(path, checked.locations))
    else:
        lengths = list(stored.rows.lengths[spec.axis])
        starts = np.cumsum([0, *lengths])[:-1].tolist()
    return [values[start : start + length] for start, length in zip(starts, lengths, strict=True)]


class ShardRecordings:
    """The recordings of a finished shard, read again if a feature needs them.

    Args:
        rows: the rows of the shard.
        report: called with the number of every row before it is processed.
    """

    def __init__(
        self,
        rows: Sequence[PlannedUtterance | Failure],
        recipe: ShardRecipe,
        report: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._recipe, self._report = recipe, report
        self._numbers: dict[str, int] = {}
        self.rows: dict[str, PlannedUtterance] = {}
        for number, row in enumerate(rows):
            if isinstance(row, PlannedUtterance):
                self._numbers[row.utterance.id], self.rows[row.utterance.id] = number, row

    def reader(self, utterance_id: str, n_frames: int) -> Callable[[], Waveform]:
        """Return a function that reads the recording of an utterance, whose stored mel has this many frames.

        Raises:
            CorpusChangedError: the recording has changed since the run was planned.
        """
        row = self.rows[utterance_id]
        self._report(self._numbers[utterance_id])
        row.check_unchanged(self._recipe.root)
        return partial(read_again, self._recipe, row.utterance, n_frames)

    def reader_as(self, utterance_id: str) -> Callable[[MelConfig, ReadingConfig], Waveform]:
        """Return a function that reads the recording of an utterance with other settings."""
        return partial(read_as, self._recipe, self.rows[utterance_id].utterance)


def feature_inputs(
    stored: StoredRows, config: Configuration, extractor: MelExtractor, recordings: ShardRecordings | None
) -> Iterator[FeatureInput]:
    """Yield the input of features for each utterance of a shard.

    Args:
        config: the settings of the store.
        recordings: the recordings; without them, features get the stored mels and waveforms.

    Raises:
        CorpusChangedError: a recording has changed since the run was planned.
    """
    rows = stored.rows
    texts, phoneme_texts = stored.texts("text"), stored.texts("phoneme_text")
    phonemes, mels = stored.array("phonemes", PHONEME), stored.array("mel", FRAME)
    waveforms = stored.array("waveform", SAMPLE) if SAMPLE in rows.lengths else None
    cuts = stored.cuts(config.mel.sample_rate) if config.cleaning.trims else None
    for i, uid in enumerate(rows.ids):
        yield FeatureInput(
            id=uid,
            speaker=rows.speakers[i],
            text=texts[i],
            phoneme_text=phoneme_texts[i],
            phonemes=np.asarray(phonemes[i]),
            n_frames=len(mels[i]),
            extractor=extractor,
            read=recordings.reader(uid, len(mels[i]))
            if recordings
            else partial(_stored_waveform, waveforms[i] if waveforms else None),
            known={} if recordings else {"mel": mels[i]},
            cut=cuts[i] if cuts else None,
            read_again=recordings.reader_as(uid) if recordings else None,
            row=recordings.rows[uid].utterance if recordings else None,
        )


def _stored_waveform(waveform: Array | None) -> Array:
    """Return a stored waveform as float32."""
    if waveform is None:
        raise FeatureError(NO_WAVEFORMS)
    return float_waveform(waveform)


def float_waveform(waveform: Array) -> Waveform:
    """Return a stored waveform, int16 or float32, as float32."""
    scale = np.float32(1 / 32768) if waveform.dtype == np.int16 else np.float32(1)
    return np.asarray(waveform * scale, np.float32)
