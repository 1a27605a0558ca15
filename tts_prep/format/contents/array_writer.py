"""Write array files: an added array's rows of one shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.format.contents.array_file import HEADER, ArrayHeader, checked_values, header_text
from tts_prep.format.files.atomic import writing
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.writer import write_arrays, write_file, write_number, write_string
from tts_prep.format.layout import LAST_NUMBERED, OWN, VERSION, array_file_name, version_text
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import FileEntry
from tts_prep.format.statistics import ArrayStatistics


def write_array_file(
    store: Path,
    spec: ArraySpec,
    number: int,
    shard: str,
    key: str,
    values: Sequence[Array],
    *,
    speakers: Sequence[str],
    lengths: Sequence[int] | None = None,
    counted: Sequence[npt.NDArray[np.bool_]] | None = None,
    remarks: Mapping[str, Any] | None = None,
    is_numbered: bool = False,
) -> FileEntry:
    """Write ``arrays/NAME/NNNNN.h5`` atomically, and return its manifest entry.

    Args:
        store: the folder of the store.
        spec: the specification of the array.
        number, shard: the number and the key of the shard.
        key: the key of the file's inputs; see `tts_prep.format.contents.array_file.array_key`.
        values: for each utterance, in order, [length, *row_shape]; [*row_shape] with the axis ``utterance``; finite.
        speakers: the speaker of each utterance, for the statistics.
        lengths: the expected number of rows of each utterance: of frames, phonemes or samples. None with the axes
            ``own`` and ``utterance``.
        counted: for each utterance, a mask [length] of the rows to include in the statistics; None includes all.
            Columns of the index have no statistics: values can be missing.
        remarks: remarks, in the form of `tts_prep.format.records.remarks.Remarks.as_dict`.
        is_numbered: the shard contains its number, as before format 1.3, so that the file does too.

    Raises:
        FeatureError: values do not match the specification; the message starts with the utterance's position.
        WriteError: the file cannot be written.
    """
    spec.checked()
    if len(speakers) != len(values) or (lengths is not None and len(lengths) != len(values)):
        raise ConfigurationError(f"array '{spec.name}': expected one speaker and one length per utterance")
    rows, statistics = _checked(f"shard {number}", spec, values, speakers, lengths, counted)
    header = ArrayHeader(
        spec,
        number if is_numbered else None,
        shard,
        key,
        len(rows),
        statistics,
        remarks or {},
        version_text(LAST_NUMBERED if is_numbered else VERSION),
    )
    name = array_file_name(spec.name, number)
    path = store / name
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    digest = write_file(path, partial(_write, header, rows))
    return FileEntry(name, digest.size, len(rows), digest.sha256)


def _checked(
    where: str,
    spec: ArraySpec,
    values: Sequence[Array],
    speakers: Sequence[str],
    lengths: Sequence[int] | None,
    counted: Sequence[npt.NDArray[np.bool_]] | None,
) -> tuple[list[Array], dict[str, dict[str, Any]]]:
    """Return the checked values of each utterance, and the statistics of each speaker."""
    rows = []
    statistics: dict[str, ArrayStatistics] = {}
    for position, (value, speaker) in enumerate(zip(values, speakers, strict=True)):
        try:
            checked = checked_values(spec, value, None if lengths is None else lengths[position])
            of_utterance = _statistics(spec, checked, None if counted is None else counted[position])
        except FeatureError as error:
            raise FeatureError(f"utterance {position} of {where}: {error}") from error
        earlier = statistics.get(speaker)
        statistics[speaker] = earlier.merged(of_utterance) if earlier else of_utterance
        rows.append(checked)
    return rows, {speaker: of_speaker.as_dict() for speaker, of_speaker in statistics.items()}


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
