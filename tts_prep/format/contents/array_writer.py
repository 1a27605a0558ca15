"""Write array files: an added array's rows of one shard; and what the index has of all files of an array."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, CorruptStoreError, FeatureError
from tts_prep.format.contents.array_file import HEADER, ArrayHeader, checked_values, header_text, read_array_header
from tts_prep.format.contents.index_writer import Column, ShardDatasets, create_offsets, write_column
from tts_prep.format.contents.shard import FindLocations
from tts_prep.format.files.atomic import writing
from tts_prep.format.hdf5 import writer
from tts_prep.format.hdf5.columns import TextColumn, column_datasets
from tts_prep.format.hdf5.datasets import Array, Location, dataset_at, read_dataset
from tts_prep.format.layout import CATEGORY, FRAME, NUMBER, OWN, PHONEME, SAMPLE, TEXT, array_file_name
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry
from tts_prep.format.statistics import ArrayStatistics


@dataclass(frozen=True, eq=False)
class ShardRows:
    """What an array file has to match: speakers and lengths of the utterances of a finished shard, in order.

    Attributes:
        number, key: the number and the key of the shard.
        speakers: the speaker of each utterance.
        lengths: the number of rows of each utterance by axis.
        ids: the id of each utterance, if they are needed.
    """

    number: int
    key: str
    speakers: Sequence[str]
    lengths: Mapping[str, Sequence[int]] = field(default_factory=dict)
    ids: Sequence[str] = ()

    def expected_lengths(self, axis: str) -> Sequence[int] | None:
        """Return the required number of rows of each utterance; None with the axes ``own`` and ``utterance``.

        Raises:
            FeatureError: the shard has no array of this axis.
        """
        if axis not in (FRAME, PHONEME, SAMPLE):
            return None
        if axis not in self.lengths:
            raise FeatureError(f"the axis 'sample': {NO_WAVEFORMS}")
        return self.lengths[axis]


def write_array_file(
    store: Path,
    spec: ArraySpec,
    rows: ShardRows,
    key: str,
    values: Sequence[Array],
    *,
    counted: Sequence[npt.NDArray[np.bool_]] | None = None,
    remarks: Mapping[str, Any] | None = None,
    sources: Sequence[str | None] = (),
) -> FileEntry:
    """Write ``arrays/NAME/NNNNN.h5`` atomically, and return its manifest entry.

    Args:
        store: the folder of the store.
        spec: the specification of the array.
        rows: the utterances of the shard.
        key: the key of the file's inputs; see `tts_prep.format.contents.array_file.array_key`.
        values: for each utterance, in order, [length, *row_shape]; [*row_shape] with the axis ``utterance``; finite.
        counted: for each utterance, a mask [length] of the rows to include in the statistics; None includes all.
            Columns of the index have no statistics: values can be missing.
        remarks: remarks, in the form of `tts_prep.format.records.remarks.Remarks.as_dict`.
        sources: the sources in the key; see `tts_prep.format.contents.array_file.ArrayHeader`.

    Raises:
        FeatureError: values do not match the specification; the message starts with the utterance's position.
        WriteError: the file cannot be written.
    """
    checked, statistics = _checked(spec.checked(), rows, values, counted)
    header = ArrayHeader(spec, rows.key, key, len(checked), statistics, remarks or {}, sources=sources)
    name = array_file_name(spec.name, rows.number)
    path = store / name
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    digest = writer.write_file(path, partial(_write, header, checked))
    return FileEntry(name, digest.size, len(checked), digest.sha256)


def _checked(
    spec: ArraySpec, rows: ShardRows, values: Sequence[Array], counted: Sequence[npt.NDArray[np.bool_]] | None
) -> tuple[list[Array], dict[str, dict[str, Any]]]:
    """Return the checked values of each utterance, and the statistics of each speaker."""
    lengths = rows.expected_lengths(spec.axis)
    if len(rows.speakers) != len(values) or (lengths is not None and len(lengths) != len(values)):
        raise ConfigurationError(f"array '{spec.name}': expected one speaker and one length per utterance")
    arrays = []
    statistics: dict[str, ArrayStatistics] = {}
    for position, (value, speaker) in enumerate(zip(values, rows.speakers, strict=True)):
        try:
            checked = checked_values(spec, value, None if lengths is None else lengths[position])
            of_utterance = _statistics(spec, checked, None if counted is None else counted[position])
        except FeatureError as error:
            raise FeatureError(f"utterance {position} of shard {rows.number}: {error}") from error
        earlier = statistics.get(speaker)
        statistics[speaker] = earlier.merged(of_utterance) if earlier else of_utterance
        arrays.append(checked)
    return arrays, {speaker: of_speaker.as_dict() for speaker, of_speaker in statistics.items()}


def _statistics(spec: ArraySpec, rows: Array, counted: npt.NDArray[np.bool_] | None) -> ArrayStatistics:
    """Return the statistics of the rows of one utterance, all or those of a mask; none of columns of the index.

    Raises:
        FeatureError: the values are too large for them.
    """
    if spec.holds_columns:
        rows = rows[:0]
    elif counted is not None:
        rows = rows[counted]
    found = ArrayStatistics.of(rows, int(np.prod(spec.row_shape, dtype=np.int64)))
    moments = found.moments
    if not (np.abs(moments.mean) < 1e100).all() or not (moments.m2 < 1e200).all():
        raise FeatureError(f"array '{spec.name}': values are too large to compute their mean and standard deviation")
    return found


def _write(header: ArrayHeader, rows: Sequence[Array], file: h5py.File, checksums: dict[str, str]) -> None:
    spec = header.spec
    writer.write_string(file, HEADER, header_text(header))
    starts = writer.write_arrays(file, spec.name, rows, spec.row_shape, spec.numpy_dtype, checksums)
    if spec.axis == OWN:
        columns = file.create_group("columns")
        writer.write_number(columns, "start", starts[:-1], "<i8")
        writer.write_number(columns, "length", np.diff(starts), "<i4")


@dataclass
class AddedArray:
    """An added array after the first pass over its files.

    Attributes:
        places: the location of the array in each file.
        columns: with the axis ``own``, the datasets of ``start`` and ``length`` in each file.
        n: the number of values per row.
        total, speakers: statistics of all rows, and by speaker.
        index_columns: of the specification.
        categories: the values of the index columns that are categories, by name.
        text_columns: of the specification.
        text_bytes: [n_text_columns] int64, the number of bytes of all texts of each.
    """

    places: list[Location]
    columns: dict[str, ShardDatasets]
    n: int
    total: ArrayStatistics
    speakers: dict[str, ArrayStatistics]
    index_columns: tuple[str, ...]
    categories: Mapping[str, Sequence[str]]
    text_columns: tuple[str, ...]
    text_bytes: npt.NDArray[np.int64]

    def write_columns(self, group: h5py.Group, store: Path, name: str, rows: Sequence[int]) -> None:
        """Write its columns of the index."""
        files = [store / array_file_name(name, number) for number in range(len(rows))]
        for key, own in self.columns.items():
            target = {"start": f"{name}_start", "length": f"n_{name}"}[key]
            if target in group:
                raise CorruptStoreError(
                    f"{store}: array '{name}' needs a column '{target}', which the corpus already has"
                )
            write_column(group, target, Column(NUMBER, {"": own}), files, rows)
        for column in (*self.index_columns, *self.text_columns):
            if column in group:
                raise CorruptStoreError(
                    f"{store}: array '{name}' needs a column '{column}', which the store already has"
                )
        if self.index_columns:
            self._write_values(group, files, rows)
        if self.text_columns:
            self._write_texts(group, files, rows)

    def _write_texts(self, group: h5py.Group, files: Sequence[Path], rows: Sequence[int]) -> None:
        """Write each text of the rows as a column."""
        datasets = []
        for column, n_bytes in zip(self.text_columns, self.text_bytes.tolist(), strict=True):
            child = group.create_group(column)
            writer.set_kind(child.id, TEXT)
            datasets.append((writer.create_dataset(child, "bytes", (n_bytes,), "u1"), create_offsets(child, sum(rows))))
        written = np.zeros(len(datasets), np.int64)
        start = 0
        for path, place, n in zip(files, self.places, rows, strict=True):
            texts = _texts(path, place, n, len(datasets))
            for number, (data, offsets) in enumerate(datasets):
                encoded = texts[number :: len(datasets)]
                ends = written[number] + np.cumsum([0, *map(len, encoded)], dtype="<i8")
                writer.write_rows(data, int(written[number]), np.frombuffer(b"".join(encoded), np.uint8))
                writer.write_rows(offsets, start, ends)
                written[number] = ends[-1]
            start += n

    def _write_values(self, group: h5py.Group, files: Sequence[Path], rows: Sequence[int]) -> None:
        """Write each number of the rows as a column."""
        columns = []
        for column in self.index_columns:
            if column in self.categories:
                columns.append(_create_category(group, column, self.categories[column], sum(rows)))
            else:
                columns.append(writer.create_dataset(group, column, (sum(rows),), np.dtype("<f8")))
                writer.set_kind(columns[-1], NUMBER)
        start = 0
        for path, place, n in zip(files, self.places, rows, strict=True):
            values = read_dataset(path, place)
            for number, (column, dataset) in enumerate(zip(self.index_columns, columns, strict=True)):
                written = values[:, number]
                if column in self.categories:
                    if not np.isin(written, np.arange(len(self.categories[column]))).all():
                        raise CorruptStoreError(
                            f"{path}: column '{column}' has a number that is none of its categories"
                        )
                    written = written.astype(np.int32)
                writer.write_rows(dataset, start, np.ascontiguousarray(written))
            start += n

    def write_speakers(self, group: h5py.Group, name: str, table: Sequence[str]) -> None:
        """Write its statistics of speakers."""
        statistics = [self.speakers.get(speaker, ArrayStatistics.empty(self.n)) for speaker in table]
        writer.write_dataset(group, f"{name}_count", np.array([one.moments.count for one in statistics], np.int64))
        for what, values in (
            ("mean", [one.moments.mean for one in statistics]),
            ("std", [one.moments.std for one in statistics]),
            ("min", [one.low for one in statistics]),
            ("max", [one.high for one in statistics]),
        ):
            writer.write_dataset(group, f"{name}_{what}", np.array(values, np.float64).reshape(len(table), self.n))


def scan_array(store: Path, name: str, n_shards: int, find: FindLocations) -> AddedArray:
    """Return what an index has of an added array."""
    added: AddedArray | None = None
    for number in range(n_shards):
        path = store / array_file_name(name, number)
        locations = find(path)
        header = read_array_header(path, locations)
        columns = {key: place[""] for key, place in column_datasets(locations).items() if "" in place}
        if added is None:
            n = int(np.prod(header.spec.row_shape, dtype=np.int64))
            own = {str(key): ShardDatasets(columns[key].dtype) for key in ("start", "length") if key in columns}
            added = AddedArray(
                places=[],
                columns=own,
                n=n,
                total=ArrayStatistics.empty(n),
                speakers={},
                index_columns=header.spec.index_columns,
                categories=header.spec.categories,
                text_columns=header.spec.text_columns,
                text_bytes=np.zeros(len(header.spec.text_columns), np.int64),
            )
        added.places.append(dataset_at(path, locations, name))
        if n_texts := len(added.text_columns):
            texts = _texts(path, added.places[-1], header.rows, n_texts)
            added.text_bytes += [sum(map(len, texts[number::n_texts])) for number in range(n_texts)]
        for key, known in added.columns.items():
            known.add(columns[key])
        for speaker, values in header.statistics.items():
            statistics = ArrayStatistics.from_dict(values)
            earlier = added.speakers.get(speaker)
            added.speakers[speaker] = earlier.merged(statistics) if earlier else statistics
            added.total = added.total.merged(statistics)
    assert added is not None
    return added


def _texts(path: Path, place: Location, rows: int, n_columns: int) -> list[bytes]:
    """Return the texts of an array file, those of a row one after another.

    Raises:
        CorruptStoreError: they are not as many as the rows need.
    """
    texts = read_dataset(path, place).tobytes().split(b"\0")
    if texts.pop() or len(texts) != rows * n_columns:
        raise CorruptStoreError(f"{path}: expected {n_columns:,} texts for each of {rows:,} rows, found {len(texts):,}")
    return texts


def _create_category(group: h5py.Group, name: str, table: Sequence[str], rows: int) -> h5py.h5d.DatasetID:
    """Write the values of a category, and return the dataset of its codes, which is not filled."""
    child = group.create_group(name)
    writer.set_kind(child.id, CATEGORY)
    codes = writer.create_dataset(child, "codes", (rows,), "<i4")
    encoded = TextColumn.encode(table)
    writer.write_dataset(child, "bytes", encoded.data)
    writer.write_dataset(child, "offsets", encoded.offsets)
    return codes
