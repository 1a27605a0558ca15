"""Export of all columns of a store, measures and reasons as a CSV file."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from tts_prep.format.files.atomic import replacing
from tts_prep.report.summary import Summary

_PLACES = ("shard", "seconds")
"""Columns of storage locations, or that are duplicated by measures."""


def write_table(summary: Summary, path: Path) -> None:
    """Write one row per measured utterance as RFC 4180 CSV in UTF-8.

    Reasons are separated by spaces; missing values are empty.

    Raises:
        WriteError: the file cannot be written.
    """
    dataset = summary.checked
    names = [name for name in dataset.columns if name not in _PLACES and not name.endswith("_start")]
    names.sort(key=lambda name: (name != "id", name != "speaker", name))
    columns: list[Any] = [list(dataset.column(name)) for name in names]
    measured = [[_text(value) for value in column.values.tolist()] for column in summary.columns]
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *(f"{column.key} ({column.unit})" for column in summary.columns), "reasons"])
        for row, values in enumerate(zip(*columns, *measured, strict=True)):
            writer.writerow([*values, " ".join(summary.suspects.reasons(row))])


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
