"""Generate the table of docs/export.md from the layouts: ``python docs/make_export.py``."""

from __future__ import annotations

import re
from pathlib import Path

from tts_prep.export import LAYOUTS

PAGE = Path(__file__).parent / "export.md"


def export_page() -> str:
    """Return the page with its table made again."""
    rows = [f"| `{x.name}` | {x.files} | {x.opened_by} | {f'{x.needs} ' if x.needs else ''}|" for x in LAYOUTS.values()]
    table = "\n".join(["| layout | files | opened by | needs |", "| --- | --- | --- | --- |", *rows])
    text, found = re.subn(
        r"^\| layout .*\n(\|.*\n)+", lambda _: f"{table}\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert found == 1, f"{PAGE}: {found} tables of layouts"
    return text


if __name__ == "__main__":
    PAGE.write_text(export_page(), encoding="utf-8")
