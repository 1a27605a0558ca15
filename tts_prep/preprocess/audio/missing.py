"""What to say of a recording that is not there: the path that was tried, and what lies in its place."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

_MAX_ENTRIES = 200_000


def missing_recording(root: Path, audio: str) -> str:
    """Return why a recording cannot be found.

    Args:
        root: what its path is relative to.
        audio: its path as the corpus has it.
    """
    path = root / audio
    parent = next((parent for parent in Path(audio).parents if os.path.isdir(root / parent)), None)  # noqa: PTH112
    if parent is None:
        return f"{audio}: no such file; the folder that audio paths are relative to does not exist"
    if parent != Path(audio).parent:
        folder = parent / Path(audio).parts[len(parent.parts)]
        return f"{audio}: no such file, and no folder {folder}; are audio paths relative to another one?"
    stem = path.stem.lower()
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.name.lower().startswith(stem))
    except OSError:
        names = []
    if not names:
        return f"{audio}: no such file"
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{audio}: no such file; in its folder lies {shown}"
