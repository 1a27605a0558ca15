"""Generate the tables of docs/check.md from the measures: ``python docs/make_check.py``."""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from tts_prep.checks import MEASURES, Measure, thresholds

PAGE = Path(__file__).parent / "check.md"


def _measures() -> str:
    rows = [f"| `{m.name}` | {m.unit} | {_definition(m)} |" for m in MEASURES]
    return "\n".join(["| measure | unit | definition |", "| --- | --- | --- |", *rows])


def _definition(measure: Measure) -> str:
    return measure.definition + (" **W**" if measure.of == "waveform" else "")


def _columns() -> str:
    cells = [f"`{m.name}` | `{m.column}`" for m in MEASURES if m.column]
    rows = [" | ".join(row) for row in zip_longest(cells[::3], cells[1::3], cells[2::3], fillvalue=" | ")]
    head = " | ".join(["measure | column"] * 3)
    return "\n".join(f"| {row} |" for row in [head, " | ".join(["---"] * 6), *rows])


def _reasons() -> str:
    units = {measure.name: measure.unit for measure in MEASURES}
    rows = []
    for t in thresholds():
        limit = f"{t.limit:g}".replace("-", "−")
        condition = f"`{t.measure}` {'>' if t.above else '<'} {limit} {units[t.measure]}"
        rows.append(f"| `{t.reason}` | {condition} | {t.why} {t.source[0].upper() + t.source[1:]}. |")
    return "\n".join(["| reason | condition | explanation and source of the threshold |", "| --- | --- | --- |", *rows])


def check_page() -> str:
    """Return the page with its tables made again."""
    text = PAGE.read_text(encoding="utf-8")
    for head, table in (("measure | unit", _measures()), ("measure | column", _columns()), ("reason |", _reasons())):
        found = re.search(rf"^\| {re.escape(head)}.*\n(\|.*\n)+", text, flags=re.MULTILINE)
        assert found, f"{PAGE}: there is no table '{head}'"
        text = f"{text[: found.start()]}{table}\n{text[found.end() :]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(check_page(), encoding="utf-8")
