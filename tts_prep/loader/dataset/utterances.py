"""The dataset of a store: random access to its utterances through memory maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.layout import ARRAYS, COUNTED, FIXED_COLUMNS
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.loader.batch_info import BatchInfo, info_of
from tts_prep.loader.dataset.columns import CategoryValues, Columns, ColumnValues, FixedColumns, TextValues
from tts_prep.loader.dataset.half_precision import widened
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.selection import Positions, Rows, row_at, select_rows
from tts_prep.loader.dataset.store import Store
from tts_prep.loader.dataset.utterance import Utterance, UtteranceArrays
from tts_prep.loader.prefetch import ask_for
from tts_prep.loader.randomness import digest
from tts_prep.loader.samplers.base import SamplerT, looking_ahead

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tts_prep.format.records.failures import Failure
    from tts_prep.loader.dataset.statistics import RowStatistics


_MAPPED_AT_A_TIME = 256
"""The number of utterances whose arrays are mapped at a time for statistics."""


Within: TypeAlias = Callable[[Any], Positions]
"""Returns the positions of a batch that are in a dataset."""


class UtteranceDataset(FixedColumns):
    """The utterances of a store, or an ordered selection of them.

    Opening reads the manifest and looks up the locations of columns and arrays; its time does not depend on the amount
    of audio. Columns and shards are memory-mapped on first access, and shared by all selections. Every index column is
    an attribute, restricted to the selection: ``dataset.n_frames``, ``dataset.seconds``, ``dataset.speaker``. Use
    ``dataset.columns`` for a column that has the name of a method.

    A dataset can be pickled and sent to worker processes, which map the same pages, and can be used after a fork.

    Example:
        >>> from tts_prep.loader import UtteranceDataset
        >>> dataset = UtteranceDataset("store")
        >>> dataset
        <UtteranceDataset 'store': 8 utterances>
        >>> dataset[0].mel.shape
        (40, 5)
        >>> dataset[dataset.n_frames > 60]
        <UtteranceDataset 'store': 3 utterances>

    Args:
        path: the store's folder, or a URL such as ``s3://bucket/store``; see ``docs/remote.md``.
        verify: check the checksum of every file first, as ``tts-prep verify`` does.
        cache: with a URL, the folder for copies of the files that are used. The processes of a machine can share it.
        cache_size: the maximum size of that folder in bytes: the least recently used files are removed. None sets no
            limit.
        offline: with a URL, True opens a complete copy without asking the server, and False asks it with all patience.
            None asks it, and opens a complete copy with an `OfflineWarning` if it cannot be reached.
        outage: with a URL, the seconds that a download waits for a server that does not answer or is overloaded.

    Raises:
        StoreError: there is no store, it is incomplete, or it has a newer major version.
        CorruptStoreError: the manifest, the index or, with `verify`, any file violates ``docs/format.md``.
        CannotReadError: the store is behind a URL, cannot be read there at present, and is not complete in the cache.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        verify: bool = False,
        cache: str | os.PathLike[str] | None = None,
        cache_size: int | None = None,
        offline: bool | None = None,
        outage: float = 300,
    ) -> None:
        store = Store(path, verify=verify, cache=cache, cache_size=cache_size, offline=offline, outage=outage)
        self._initialize(store)

    def _initialize(
        self,
        store: Store,
        rows: Rows | None = None,
        batch_info: BatchInfo = BatchInfo(),
        speakers: Any = None,
    ) -> None:
        self._store = store
        self._rows: Rows = range(store.manifest.index.rows) if rows is None else rows
        self._speakers = speakers
        self.batch_info = batch_info

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "rows": self._rows, "batch_info": self.batch_info, "speakers": self._speakers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._initialize(**state)

    def _selected(self, rows: Rows, batch_info: BatchInfo = BatchInfo()) -> UtteranceDataset:
        selected = UtteranceDataset.__new__(UtteranceDataset)
        selected._initialize(self._store, rows, batch_info, self._speakers)
        return selected

    def _with_speakers(self, names: tuple[str, ...], codes: Mapping[str, int]) -> UtteranceDataset:
        """Return the dataset with the speaker table of several stores.

        Args:
            names: the common table: the name for each code.
            codes: the code of each speaker of this dataset.
        """
        if self.speakers == names:
            return self
        steps = np.array([codes[name] for name in self.speakers], np.int32)
        own = steps if self._speakers is None else steps[self._speakers.codes]
        dataset = UtteranceDataset.__new__(UtteranceDataset)
        common = doors.need("datasets", "speakers")
        dataset._initialize(self._store, self._rows, self.batch_info, common(self._store, names, own))
        return dataset

    def __repr__(self) -> str:
        return f"<UtteranceDataset {self.path.name!r}: {len(self):,} utterances>"

    @cached_property
    def columns(self) -> Columns:
        """The columns by name; ``dataset.n_frames`` is ``dataset.columns.n_frames``."""
        return Columns(self._store, self._rows, {} if self._speakers is None else {"speaker": self._speakers.values})

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._store.path

    @cached_property
    def metadata(self) -> StoreMetadata:
        """The metadata common to all utterances of the store."""
        return self._store.metadata if self._speakers is None else self._speakers.metadata

    @property
    def sample_rate(self) -> int:
        """The sample rate of the audio from which mels were computed, Hz."""
        return self.metadata.sample_rate

    @property
    def hop_length(self) -> int:
        """The number of samples between successive frames."""
        return self.metadata.hop_length

    @property
    def n_mels(self) -> int:
        """The number of mel bins."""
        return self.metadata.n_mels

    @property
    def silence(self) -> npt.NDArray[np.float32]:
        """The mel frame of digital silence, [n_mels]."""
        return self.metadata.silence

    @property
    def mel_mean(self) -> npt.NDArray[np.float64]:
        """The mean of each mel bin over the store, [n_mels]."""
        return self.metadata.mel_mean

    @property
    def mel_std(self) -> npt.NDArray[np.float64]:
        """The standard deviation of each mel bin over the store, [n_mels]."""
        return self.metadata.mel_std

    @property
    def symbols(self) -> tuple[str, ...]:
        """The vocabulary: the symbol for each id."""
        return self.metadata.symbols

    @property
    def pad_id(self) -> int:
        """The id with which phonemes are padded."""
        return self.metadata.pad_id

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speaker table of the store: the name for each code."""
        return self.metadata.speakers

    @property
    def has_waveform(self) -> bool:
        """Whether the store has waveforms."""
        return self.metadata.has_waveform

    @property
    def arrays(self) -> Mapping[str, ArraySpec]:
        """The arrays of the store by name: ``mel``, ``phonemes``, ``waveform`` if stored, and all added arrays.

        Those whose values are columns of the index are in `columns` alone.
        """
        return self._store.manifest.array_specs

    def statistics(self, name: str) -> RowStatistics:
        """Return the statistics of an added array, over the store and by speaker.

        Raises:
            ConfigurationError: the store has no such added array.
        """
        own: RowStatistics = self._store.statistics(name)
        return own if self._speakers is None else self._speakers.statistics(own)

    def selection_statistics(self, name: str) -> RowStatistics:
        """Return the statistics of an array over the selected utterances only, such as those of the training split.

        All rows are read. Those of pitch are over voiced frames. ``mel`` and the other arrays of the shards have
        statistics too.

        Raises:
            ConfigurationError: the store has no such array.
        """
        from tts_prep.loader.dataset.statistics import statistics_of_rows

        spec = self.arrays.get(name)
        row_shape = tuple(spec.row_shape) if spec else ()
        return statistics_of_rows(self._rows_of(name, row_shape), row_shape, len(self.speakers))

    def _rows_of(self, name: str, row_shape: tuple[int, ...]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield for each utterance its speaker code and the rows of an array that its statistics count."""
        mask = COUNTED.get(name)
        mask = mask if mask in self.arrays else None
        for start in range(0, max(1, len(self)), _MAPPED_AT_A_TIME):
            chunk = self[start : start + _MAPPED_AT_A_TIME].having(name)
            views = [np.reshape(view, (-1, *row_shape)) for view in chunk.views(name)]
            if mask:
                views = [view[np.asarray(of, np.bool_)] for view, of in zip(views, chunk.views(mask), strict=True)]
            yield from zip(chunk.columns.speaker.checked_codes().tolist(), views, strict=True)

    @property
    def ood_texts(self) -> Any:
        """The `OutOfDomainTexts` of the store, independent of filtering and splitting; None if it has none."""
        return self._store.ood_texts()

    @property
    def failures(self) -> list[Failure]:
        """What failed when the store was made and is not in it, with the reasons, independent of filtering."""
        return self._store.failures()

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """The selected rows of the store, [n]."""
        return np.asarray(self._rows, np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the store's fingerprint and plan and of the selected rows, hexadecimal."""
        manifest = self._store.manifest
        rows = self._rows
        selection = [rows.start, rows.stop, rows.step] if isinstance(rows, range) else digest(rows)
        return json_sha256([manifest.fingerprint, manifest.plan, manifest.index.sha256, selection])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "columns":
            raise AttributeError(name)
        try:
            return self.columns[name]
        except ConfigurationError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> Collection[str]:
        return sorted({*super().__dir__(), *self.columns})

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int | np.integer[Any]) -> Utterance: ...
    @overload
    def __getitem__(self, position: slice | Positions) -> UtteranceDataset: ...
    def __getitem__(self, position: Any) -> Utterance | UtteranceDataset:
        """Return the utterance at an integer, or the dataset at a slice, at positions or where a mask is true.

        Raises:
            IndexError: a position is out of range.
            CorruptStoreError: the files contradict the index.
        """
        if isinstance(position, int | np.integer):
            return self._utterance(row_at(self._rows, int(position)))
        return self._selected(select_rows(self._rows, position))

    def __iter__(self) -> Iterator[Utterance]:
        return (self._utterance(int(row)) for row in self._rows)

    def __getitems__(self, positions: Positions) -> UtteranceDataset:
        """Return the dataset at positions: ``torch.utils.data.DataLoader`` calls this for a batch.

        ``collate`` pads it directly from the memory maps; any other collate function can iterate over it.
        """
        return self._selected(select_rows(self._rows, positions), info_of(positions))

    def select(self, positions: Positions) -> UtteranceDataset:
        """Return the dataset at positions, in that order and possibly repeated, or where a mask is true.

        Example:
            >>> from tts_prep.loader import UtteranceDataset
            >>> list(UtteranceDataset("store").select([3, 0]).id)
            ['utterance-3', 'utterance-0']
        """
        return self._selected(select_rows(self._rows, positions))

    def filter(self, predicate: Callable[[Columns], npt.ArrayLike]) -> UtteranceDataset:
        """Return the utterances selected by a predicate on the columns. No array is read.

        Example:
            >>> from tts_prep.loader import UtteranceDataset
            >>> dataset = UtteranceDataset("store")
            >>> dataset.filter(lambda columns: (columns.n_frames > 50) & (columns.speaker == "anna"))
            <UtteranceDataset 'store': 2 utterances>

        Args:
            predicate: returns a boolean mask [n] for the columns.

        Raises:
            ConfigurationError: the predicate returned something else.
        """
        if not callable(predicate):
            raise ConfigurationError(
                f"filter: expected a function of the columns, such as lambda m: m.seconds > 1, found {predicate!r}"
            )
        try:
            mask = np.asarray(predicate(self.columns))
        except AttributeError as error:
            if error.obj is not self.columns or error.name not in {*self.arrays, "waveform"}:
                raise
            raise ConfigurationError(f"filter: {error}") from None
        except ValueError as error:
            if "truth value of an array" not in str(error):
                raise
            raise ConfigurationError(
                "filter: a condition is True or False for each utterance; combine conditions with & and |, each in "
                "brackets, instead of 'and' and 'or'"
            ) from error
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise ConfigurationError(
                f"filter: expected a mask of {len(self):,} booleans, found {mask.dtype} of shape {list(mask.shape)}; "
                "combine conditions with & and |"
            )
        return self._selected(select_rows(self._rows, mask))

    def having(self, *arrays: str) -> UtteranceDataset:
        """Return the utterances that have a value of each of these arrays.

        An array that a model has computed can lack some; the column that says why is that of its ``failures``. An array
        with the axis ``own`` has none where it has no rows.

        Raises:
            ConfigurationError: the store has no such array.
        """
        dataset = self
        for name in arrays:
            column = self._spec(name).failures
            if (n_rows := f"n_{name}") in self._spec(name).own_columns:
                dataset = dataset.filter(lambda columns, column=n_rows: columns[column] > 0)  # type: ignore[misc]
            if column in self.columns:
                dataset = dataset.filter(lambda columns, column=column: columns[column] == "")  # type: ignore[misc]
        return dataset

    def sort(self, column: str, *, descending: bool = False) -> UtteranceDataset:
        """Return the dataset sorted by a column. The sort is stable.

        Example:
            >>> from tts_prep.loader import UtteranceDataset
            >>> UtteranceDataset("store").sort("n_frames", descending=True).n_frames.tolist()
            [75, 70, 65, 60, 55, 50, 45, 40]

        Raises:
            ConfigurationError: there is no such column.
        """
        values = self.columns[column]
        if isinstance(values, TextValues):
            texts = list(values)
            order = sorted(range(len(texts)), key=texts.__getitem__, reverse=descending)
            return self._selected(select_rows(self._rows, order))
        numbers = values.codes if isinstance(values, CategoryValues) else values
        if descending:
            # Sorting the reversed values and reversing the result keeps the order of equal values.
            positions = len(self) - 1 - np.argsort(numbers[::-1], kind="stable")[::-1]
        else:
            positions = np.argsort(numbers, kind="stable")
        return self._selected(select_rows(self._rows, positions))

    def split(
        self, first_size: int | float, *, seed: int | None = None, stratify: str | None = None, apart: str | None = None
    ) -> tuple[UtteranceDataset, UtteranceDataset]:
        """Split the dataset into its first utterances and the rest, or into a random choice and the rest.

        Example:
            >>> from tts_prep.loader import UtteranceDataset
            >>> dataset = UtteranceDataset("store")
            >>> validation, training = dataset.split(0.25, seed=0)
            >>> len(validation), len(training)
            (2, 6)
            >>> validation, training = dataset.split(4, stratify="speaker")  # the proportions of speakers
            >>> validation, training = dataset.split(4, apart="text")  # no text is in both

        Args:
            first_size: the number of utterances of the first dataset, or its share (0.05); with `apart`, the maximum.
            seed: the seed of a random choice; None takes the first utterances, or seed 0 with `stratify` or `apart`.
            stratify: a column whose values have the same proportions in both datasets, rounded.
            apart: a column of which no value occurs in both datasets.

        Raises:
            ConfigurationError: `first_size` exceeds the dataset, a column does not exist, or no value of `apart` fits.
        """
        strata, groups = (None if name is None else self.columns[name] for name in (stratify, apart))
        first, rest = doors.need("datasets", "split")(len(self), first_size, seed, strata=strata, groups=groups)
        if seed is None and strata is None and groups is None:
            return self[: len(first)], self[len(first) :]
        return self.select(first), self.select(rest)

    def column(self, name: str) -> ColumnValues:
        """Return a column, like the attribute of this name.

        Raises:
            ConfigurationError: there is no such column.
        """
        return self.columns[name]

    def to_pandas(self, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the columns as a ``pandas.DataFrame``; no array is read.

        The index is the position in this dataset, so that ``dataset.select(frame.query("seconds > 5").index)`` selects
        rows of the frame. Categories become categoricals.

        Args:
            columns: their names; None takes all but those that say where arrays lie.

        Raises:
            ConfigurationError: there is no such column.
            MissingPackageError: pandas is not installed.
        """
        return doors.need("datasets", "pandas")(self.columns, columns)

    def to_arrow(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the columns as a ``pyarrow.Table``; no array is read. Categories become dictionaries of strings.

        Args:
            columns: their names; None takes all but those that say where arrays lie.

        Raises:
            ConfigurationError: there is no such column.
            MissingPackageError: pyarrow is not installed.
        """
        return doors.need("datasets", "arrow")(self.columns, columns)

    def views(self, name: str) -> list[npt.NDArray[Any]]:
        """Return an array as one read-only view per utterance; mels stored as float16 are float32 copies.

        Args:
            name: one of ``arrays``. Views of an array with the axis ``utterance`` have no axis of rows.

        Raises:
            ConfigurationError: the store has no such array, or an utterance has no value of it; see `having`.
            CorruptStoreError: a shard contradicts the manifest or the index.
        """
        if self._spec(name).failures:
            self._check_values(name)
        views = self._store.views(name, self._rows)
        if name == "mel" and self._is_half:
            views = [widened(view, self.metadata.mel_offset) for view in views]
            for view in views:
                view.flags.writeable = False
        return views

    def _array(self, name: str, row: int) -> npt.NDArray[Any]:
        """Return an array of a row of the store, selected or not, as `views` does."""
        spec = self._spec(name)
        if spec.failures or spec.columns is None or (name == "mel" and self._is_half):
            return self._selected(range(row, row + 1)).views(name)[0]
        return self._store.reader(name)(row)

    @cached_property
    def _is_half(self) -> bool:
        return self.arrays["mel"].numpy_dtype != np.float32

    def _speaker_code(self, row: int) -> int:
        """Return the code of the speaker of a row of the store in the common table."""
        column: Any = self._store.column("speaker")
        code: int = column.codes.item(row)
        if not 0 <= code < len(column.table):
            column[row]  # raises the error
        return code if self._speakers is None else int(self._speakers.codes.item(code))

    @cached_property
    def _meta_names(self) -> list[str]:
        return [name for name in self.columns if name not in FIXED_COLUMNS]

    def _spec(self, name: str) -> ArraySpec:
        spec = self.arrays.get(name)
        if spec is None:
            raise ConfigurationError(f"{self.path}: no array '{name}'; it has {', '.join(self.arrays)}")
        return spec

    def _check_values(self, name: str) -> None:
        """Check that all utterances have a value of an array, which would be zeros otherwise."""
        column = self._spec(name).failures
        if column not in self.columns:
            return
        for uid, reason in zip(self.columns.id, self.columns[column], strict=True):
            if reason:
                raise ConfigurationError(
                    f"{self.path}: utterance '{uid}' has no '{name}': {reason}; dataset.having('{name}') leaves such "
                    "utterances out"
                )

    def read_ahead(self, positions: Positions) -> None:
        """Ask the system to read mel, phonemes and waveform of the utterances at positions, without waiting.

        `DataLoader` calls it for the next batches; a loop that indexes the dataset itself can do the same.
        """
        chosen = self._selected(select_rows(self._rows, positions))
        if not self._store.is_at_hand(chosen._shards()):
            return
        for name in ARRAYS.keys() & self.arrays.keys():
            for view in self._store.views(name, chosen._rows):
                ask_for(view)

    def check_unchanged(self) -> None:
        """Check that the store is still the one that was opened, and that all ranks of ``torch.distributed`` opened it.

        With a process group, every rank calls it at the same step; all of them raise the error then, or none does.

        Raises:
            StoreError: the store was replaced or removed, on the server too, or a rank has opened another version.
        """
        self._store.check_unchanged()

    def ahead(self, sampler: SamplerT, arrays: Sequence[str] = ()) -> SamplerT:
        """Have a batch sampler download the files of its next batches, if the store is a URL, and return it.

        `DataLoader` does so by itself. torch's DataLoader with workers, of which each has the same cache, does so with
        ``batch_sampler=dataset.ahead(sampler)``. The batches, and the state of the sampler, are the same as without.

        Args:
            arrays: the names of added arrays that the workers read.

        Raises:
            ConfigurationError: the store has no such array, or the sampler is another package's.
        """
        for name in arrays:
            self._spec(name)
        return looking_ahead(sampler, partial(self.fetched_ahead, arrays=("mel", *arrays)))

    def fetched_ahead(
        self, batches: Iterable[Any], windows: Sequence[Any] = (), within: Within | None = None, **options: Any
    ) -> Iterable[Any]:
        """Yield batches of positions. The files of later ones are downloaded meanwhile, if the store is a URL.

        Args:
            windows: positions in the shards of each window of this epoch and of the next, if that is known.
            within: returns the positions of a batch in this dataset; None if all are.
            options: see `Store.fetched_ahead`.
        """

        def shards(batch: Any) -> list[int]:
            return self._selected(select_rows(self._rows, within(batch) if within else batch))._shards()

        return self._store.fetched_ahead(batches, windows, shards, **options)

    def _shards(self) -> list[int]:
        """Return the shards of the selected utterances, each once, in the order of their first use."""
        return list(dict.fromkeys(np.asarray(self.columns["shard"]).tolist()))

    @property
    def _datasets(self) -> Sequence[UtteranceDataset]:
        return [self]

    def _places(self) -> npt.NDArray[Any] | None:
        """Return the rows of `Store.row_table` for a batch; None if there is no table."""
        table = self._store.row_table()
        return None if table is None else table.take(self.indices, axis=0)

    def _unread(self, row: int) -> Utterance:
        """Return the utterance of a row of the store, of which nothing is looked up yet."""
        utterance = Utterance.__new__(Utterance)
        utterance.__dict__.update(index=row, store=self.metadata, _dataset=self)
        return utterance

    @cached_property
    def _read(self) -> tuple[Callable[[int], Any], ...]:
        """What returns the id, the mel as it is stored, and the phonemes of a row of the store."""
        ids: Any = self._store.column("id")
        return ids.at, self._store.reader("mel"), self._store.reader("phonemes")

    def _utterance(self, row: int) -> Utterance:
        """Return the utterance of a row of the store, whose arrays stay readable when the store is removed."""
        id_of, mel_of, phonemes_of = self._read
        utterance = Utterance.__new__(Utterance)
        made = utterance.__dict__
        made["index"], made["store"], made["_dataset"] = row, self.metadata, self
        made["id"], made["speaker_code"] = id_of(row), self._speaker_code(row)
        made["_mel" if self._is_half else "mel"], made["phonemes"] = mel_of(row), phonemes_of(row)
        return utterance

    def _field(self, name: str, row: int) -> Any:
        """Return a field of an utterance that `_utterance` has not made."""
        column: Any = self._store.column
        if name in ARRAYS:
            return self._array(name, row) if name in self.arrays else None
        if name == "speaker_code":
            return self._speaker_code(row)
        if name == "arrays":
            return UtteranceArrays(self, row)
        if name == "speaker":
            return self.metadata.speakers[self._speaker_code(row)]
        if name == "meta":
            return {key: _plain(column(key)[row]) for key in self._meta_names}
        return column(name).item(row) if name == "seconds" else column(name).at(row)


class RowsOfStores(Sequence[Utterance]):
    """The utterances of a batch at rows of several stores, whose settings are equal: made when they are asked for."""

    def __init__(self, datasets: Sequence[UtteranceDataset], rows: Sequence[int], batch_info: BatchInfo) -> None:
        self._datasets, self._rows, self.batch_info = datasets, rows, batch_info
        self.indices = np.array(rows, np.int64)

    def _places(self) -> npt.NDArray[Any] | None:
        tables: list[Any] = [dataset._store.row_table() for dataset in self._datasets]
        if any(table is None for table in tables):
            return None
        return np.array([table[row] for table, row in zip(tables, self._rows, strict=True)])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [*self][position]
        return self._datasets[position]._unread(self._rows[position])


def _plain(value: Any) -> str | float:
    return value if isinstance(value, str) else float(value)
