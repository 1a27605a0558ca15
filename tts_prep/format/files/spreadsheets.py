"""Texts that a spreadsheet would take for a formula."""

from __future__ import annotations

import re

# Apostrophes before a formula are counted too, so that the conversion is one to one.
_FORMULA = re.compile("'*[=+\\-@\t\r]")


def as_cell(text: str) -> str:
    """Return a text as a cell of a CSV file: an apostrophe precedes what a spreadsheet would take for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def of_cell(cell: str) -> str:
    """Return the text of a cell: the inverse of `as_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
