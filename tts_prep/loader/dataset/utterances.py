"""The dataset of a store: its utterances, by position, without reading more than is looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.arrays import ArraySpec
from tts_prep.format.checksums import json_sha256
from tts_prep.format.datasets import Array
from tts_prep.format.layout import ARRAYS, FIXED_COLUMNS
from tts_prep.loader.dataset.columns import CategoryValues, Columns, ColumnValues, TextValues
from tts_prep.loader.dataset.metadata import RowStatistics, StoreMetadata
from tts_prep.loader.dataset.ood_texts import OutOfDomainTexts
from tts_prep.loader.dataset.selection import Positions, Rows, row_at, select_rows
from tts_prep.loader.dataset.splitting import split_positions
from tts_prep.loader.dataset.store import Store
from tts_prep.loader.dataset.utterance import Utterance, UtteranceArrays
from tts_prep.loader.prefetch.reading_ahead import ask_for
from tts_prep.loader.randomness import digest
from tts_prep.loader.samplers.shapes import BatchPositions, BatchShape


class UtteranceDataset:
    """The utterances of a store, or a selection of them, in an order.

    Opening reads the manifest and looks up where the columns and the arrays lie; it takes the same time for any
    amount of audio. A column or a shard is mapped when it is first needed, and shared by all selections. Every index
    column is an attribute that follows the selection: ``dataset.n_frames``, ``dataset.seconds``, ``dataset.speaker``;
    where a corpus's column has the name of a method, ``dataset.columns`` has it.

    A dataset can be pickled and sent to worker processes, which map the same pages, and used after a fork.

    Args:
        path: the store's folder.
        verify: read every file first and compare it with its checksum, as ``tts-prep verify`` does.

    Raises:
        StoreError: there is no store, it is not whole, or it is of a newer major version.
        CorruptStoreError: manifest or index are not what ``docs/FORMAT.md`` says; with ``verify``, any file is not.
    """

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = False) -> None:
        self._show(Store(path, verify=verify))

    def _show(self, store: Store, rows: Rows | None = None) -> None:
        self._store = store
        self._rows: Rows = range(store.manifest.index.rows) if rows is None else rows
        self.columns = Columns(store, self._rows)
        # What a batch of a sampler with fixed shapes is to be padded to.
        self.batch_shape: BatchShape | None = None
        # Whose batch this is, where a sampler says so.
        self.batch_epoch: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._show(state["store"], state["rows"])

    def _selected(self, rows: Rows) -> UtteranceDataset:
        selected = UtteranceDataset.__new__(UtteranceDataset)
        selected._show(self._store, rows)
        return selected

    def __repr__(self) -> str:
        return f"<UtteranceDataset {str(self.path)!r}: {len(self):,} utterances>"

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._store.path

    @property
    def metadata(self) -> StoreMetadata:
        """What holds for every utterance of the store."""
        return self._store.metadata

    @property
    def sample_rate(self) -> int:
        """The sample rate of the audio that the mels were made from, Hz."""
        return self.metadata.sample_rate

    @property
    def hop_length(self) -> int:
        """The number of samples between two frames."""
        return self.metadata.hop_length

    @property
    def n_mels(self) -> int:
        """The number of bins of a frame."""
        return self.metadata.n_mels

    @property
    def silence(self) -> npt.NDArray[np.float32]:
        """The frame of digital silence, [n_mels]."""
        return self.metadata.silence

    @property
    def mel_mean(self) -> npt.NDArray[np.float64]:
        """The mean of each mel bin over the whole store, [n_mels]."""
        return self.metadata.mel_mean

    @property
    def mel_std(self) -> npt.NDArray[np.float64]:
        """The standard deviation of each mel bin over the whole store, [n_mels]."""
        return self.metadata.mel_std

    @property
    def symbols(self) -> tuple[str, ...]:
        """The vocabulary; the position is the id."""
        return self.metadata.symbols

    @property
    def pad_id(self) -> int:
        """The id that pads phonemes."""
        return self.metadata.pad_id

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speaker of each code, of the whole store."""
        return self.metadata.speakers

    @property
    def has_waveform(self) -> bool:
        """Whether the store keeps waveforms."""
        return self.metadata.has_waveform

    @property
    def arrays(self) -> Mapping[str, ArraySpec]:
        """The arrays of the store by name: ``mel``, ``phonemes``, ``waveform`` where it is kept, and the added ones."""
        return self._store.manifest.specs

    def statistics(self, name: str) -> RowStatistics:
        """Return the statistics of an added array, of the whole store and by speaker.

        Raises:
            ConfigurationError: the store has no such added array.
        """
        return self._store.statistics(name)

    @property
    def ood_texts(self) -> OutOfDomainTexts | None:
        """The out-of-domain texts of the store, whatever was filtered or split; None where it has none."""
        return self._store.ood_texts()

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """The rows in the whole store that this dataset shows, [n]."""
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
            IndexError: a position does not exist.
            CorruptStoreError: the store's files are not what its index says.
        """
        if isinstance(position, int | np.integer):
            return self._utterance(row_at(self._rows, int(position)))
        return self._selected(select_rows(self._rows, position))

    def __iter__(self) -> Iterator[Utterance]:
        return (self._utterance(int(row)) for row in self._rows)

    def __getitems__(self, positions: Positions) -> UtteranceDataset:
        """Return the dataset at positions, as ``torch.utils.data.DataLoader`` asks for a batch.

        It goes to ``collate``, which pads it straight from the map; any other function can iterate over it.
        """
        selected = self._selected(select_rows(self._rows, positions))
        if isinstance(positions, BatchPositions):
            selected.batch_shape, selected.batch_epoch = positions.shape, positions.epoch
        return selected

    def select(self, positions: Positions) -> UtteranceDataset:
        """Return the dataset at positions, in their order, repeats allowed; or where a mask is true."""
        return self._selected(select_rows(self._rows, positions))

    def filter(self, predicate: Callable[[Columns], npt.ArrayLike]) -> UtteranceDataset:
        """Return the dataset of the utterances that a predicate on the columns accepts; no array is read.

        ``dataset.filter(lambda m: (m.seconds > 1) & (m.speaker == "ljspeech"))``

        Args:
            predicate: from the columns to a mask [n] of booleans.

        Raises:
            ConfigurationError: the predicate gave something else.
        """
        mask = np.asarray(predicate(self.columns))
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise ConfigurationError(
                f"filter: expected a mask of {len(self):,} booleans, found {mask.dtype} of shape {list(mask.shape)}; "
                "combine conditions with & and |"
            )
        return self._selected(select_rows(self._rows, mask))

    def sort(self, column: str, *, descending: bool = False) -> UtteranceDataset:
        """Return the dataset in the order of a column; equal values keep their order.

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
            # The reverse of a stable sort of the reverse: equal values keep their order here too.
            positions = len(self) - 1 - np.argsort(numbers[::-1], kind="stable")[::-1]
        else:
            positions = np.argsort(numbers, kind="stable")
        return self._selected(select_rows(self._rows, positions))

    def split(
        self, first_size: int, *, seed: int | None = None, stratify: str | None = None, apart: str | None = None
    ) -> tuple[UtteranceDataset, UtteranceDataset]:
        """Return two datasets: the first utterances and the rest, or a random choice and the rest.

        ``dataset.split(100, stratify="speaker")`` keeps every speaker's share; ``dataset.split(100, apart="text")``
        has no text on both sides.

        Args:
            first_size: utterances of the first one; with `apart`, at most.
            seed: of a random choice; None takes the first ones, or 0 with `stratify` or `apart`.
            stratify: a column of whose values both datasets have the same shares, rounded.
            apart: a column of which no value is in both datasets.

        Raises:
            ConfigurationError: there are fewer utterances than that, no such column, or no value of `apart` fits.
        """
        strata, groups = (None if name is None else self.columns[name] for name in (stratify, apart))
        first, rest = split_positions(len(self), first_size, seed, strata=strata, groups=groups)
        if seed is None and strata is None and groups is None:
            return self[:first_size], self[first_size:]
        return self.select(first), self.select(rest)

    def column(self, name: str) -> ColumnValues:
        """Return a column, as the attribute of its name would be.

        Raises:
            ConfigurationError: there is no such column.
        """
        return self.columns[name]

    def views(self, name: str) -> list[Array]:
        """Return one read-only view of the map an utterance; of mels stored as float16, a float32 copy.

        Args:
            name: one of ``arrays``. Of an array with the axis ``utterance``, a view has no axis of rows.

        Raises:
            ConfigurationError: the store does not keep this array.
            CorruptStoreError: a shard is not what the manifest or the index says.
        """
        views = self._maps(name)
        if name == "mel" and views and views[0].dtype != np.float32:
            offset = np.float32(self.metadata.mel_offset)
            views = [np.add(view, offset, dtype=np.float32) for view in views]
            for view in views:
                view.flags.writeable = False
        return views

    def _maps(self, name: str) -> list[Array]:
        spec = self.arrays.get(name)
        if spec is None:
            raise ConfigurationError(f"{self.path}: no array '{name}'; there are {', '.join(self.arrays)}")
        shards = np.asarray(self.columns["shard"])
        if spec.columns is None:
            starts = self.indices - self._store.first_rows(shards)
            return [view[0] for view in self._store.slices(name, shards, starts, np.ones(len(self), np.int64))]
        starts, lengths = (np.asarray(self.columns[column]) for column in spec.columns)
        return self._store.slices(name, shards, starts, lengths)

    def read_ahead(self, positions: Positions) -> None:
        """Ask the system to read mel, phonemes and waveform of the utterances at positions; returns at once."""
        chosen = self._selected(select_rows(self._rows, positions))
        for name in ARRAYS.keys() & self.arrays.keys():
            for view in chosen._maps(name):
                ask_for(view)

    def _utterance(self, row: int) -> Utterance:
        one = self._selected(range(row, row + 1))
        columns: Any = one.columns
        return Utterance(
            index=row,
            id=columns.id[0],
            text=columns.text[0],
            phoneme_text=columns.phoneme_text[0],
            speaker=columns.speaker[0],
            speaker_code=int(columns.speaker.codes[0]),
            seconds=float(columns.seconds[0]),
            mel=one.views("mel")[0],
            phonemes=one.views("phonemes")[0],
            waveform=one.views("waveform")[0] if self.has_waveform else None,
            meta={name: _plain(columns[name][0]) for name in columns if name not in FIXED_COLUMNS},
            store=self.metadata,
            arrays=UtteranceArrays(one),
        )


def _plain(value: Any) -> str | float:
    return value if isinstance(value, str) else float(value)
