"""All columns of a store as one CSV file: what the corpus says, what was measured, and the reasons."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from tts_prep.format.atomic import replacing
from tts_prep.report.summary import Summary

_PLACES = ("shard", "seconds")
"""Columns that say where rows lie, or that are among the measures."""


def write_table(summary: Summary, path: Path) -> None:
    """Write one row for each utterance that was measured, as RFC 4180 CSV in UTF-8.

    The reasons of a suspect are separated by spaces; a value that could not be measured is empty.

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
