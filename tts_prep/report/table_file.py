"""Export of all columns of a store, measures and reasons as a CSV file."""

from __future__ import annotations

from pathlib import Path

from tts_prep.checks.index_columns import NAMES
from tts_prep.checks.output import write_csv
from tts_prep.report.summary import Summary

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
