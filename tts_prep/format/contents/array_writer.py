"""Write array files: an added array's rows of one shard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError, FeatureError
from tts_prep.format.contents.array_file import HEADER, ArrayHeader, checked_values, header_text
from tts_prep.format.files.atomic import writing
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.writer import write_arrays, write_file, write_number, write_string
from tts_prep.format.layout import FRAME, OWN, PHONEME, SAMPLE, array_file_name
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
    digest = write_file(path, partial(_write, header, checked))
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
    write_string(file, HEADER, header_text(header))
    starts = write_arrays(file, spec.name, rows, spec.row_shape, spec.numpy_dtype, checksums)
    if spec.axis == OWN:
        columns = file.create_group("columns")
        write_number(columns, "start", starts[:-1], "<i8")
        write_number(columns, "length", np.diff(starts), "<i4")
