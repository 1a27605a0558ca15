"""The result of a check as CSV, as JSON and as a list of ids."""

import csv
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.checks.catalogue import MEASURES, unit_of
from tts_prep.checks.detection import Suspects
from tts_prep.format.files.atomic import replacing

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, C1 and bidirectional ones included."""


def write_ids(suspects: Suspects, path: Path) -> None:
    """Write the ids of the suspects, one per line, in UTF-8.

    Raises:
        WriteError: the file cannot be written.
    """
    with replacing(path) as partial:
        partial.write_text("".join(f"{id_}\n" for id_ in suspects.ids), encoding="utf-8", newline="\n")


def write_csv(
    suspects: Suspects, path: Path, columns: Mapping[str, Iterable[Any]], numbers: Mapping[str, npt.NDArray[np.float64]]
) -> None:
    """Write all utterances with their reasons (separated by spaces) as RFC 4180 CSV in UTF-8.

    Texts that a spreadsheet would take for a formula begin with an apostrophe, and control characters are escaped.

    Args:
        columns: the first columns by heading, [n] each.
        numbers: the next columns by heading, [n] each; NaN is an empty cell.

    Raises:
        WriteError: the file cannot be written.
    """
    cells = [map(_number, values.tolist()) for values in numbers.values()]
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, *numbers, "reasons"])
        texts = [map(_harmless, values) for values in columns.values()]
        for row, values in enumerate(zip(*texts, *cells, strict=True)):
            writer.writerow([*values, " ".join(suspects.reasons(row))])


def _harmless(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula, and no terminal for an escape sequence.

    An apostrophe precedes a text that starts like a formula, as spreadsheets show a text; control characters are
    escaped.
    """
    if not isinstance(value, str):
        return value
    text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], value)
    return f"'{text}" if value.startswith(_FORMULA) else text


def write_measures(suspects: Suspects, path: Path) -> None:
    """Write id, speaker, measures and reasons of all utterances, see `write_csv`."""
    dataset, measures = suspects.measures.dataset, suspects.measures.columns
    columns = {"id": dataset.id, "speaker": dataset.speaker}
    write_csv(suspects, path, columns, {f"{m.name} ({m.unit})": measures[m.name] for m in MEASURES})


def as_json(suspects: Suspects) -> dict[str, Any]:
    """Return thresholds, counts, notes and suspects as JSON-compatible values, with None for missing values."""
    dataset, columns = suspects.measures.dataset, suspects.measures.columns
    ids = dict(zip(suspects.positions.tolist(), suspects.ids, strict=True))
    return {
        "store": str(dataset.path),
        "utterances": len(dataset),
        "thresholds": {
            threshold.reason: {
                "measure": threshold.measure,
                "unit": unit_of(threshold.measure),
                "above" if threshold.above else "below": threshold.limit,
                "why": threshold.why,
                "source": threshold.source,
                "suspects": suspects.count(threshold.reason),
                **({"not_measured": why} if (why := suspects.why_unknown(threshold.reason)) else {}),
            }
            for threshold in suspects.thresholds
        },
        "notes": list(suspects.notes),
        "suspects": [
            {
                "id": id_,
                "reasons": {
                    reason: None if (partner := suspects.partner(reason, row)) is None else dataset[partner].id
                    for reason in suspects.reasons(row)
                },
                "measures": {
                    m.name: float(columns[m.name][row]) if math.isfinite(columns[m.name][row]) else None
                    for m in MEASURES
                },
            }
            for row, id_ in ids.items()
        ],
    }


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
