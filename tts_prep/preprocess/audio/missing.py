"""Error messages for missing recordings: the path that was tried, and similar files."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

_MAX_ENTRIES = 200_000


def missing_recording(root: Path, audio: str) -> str:
    """Return an error message for a missing recording.

    Args:
        root: the folder of relative audio paths.
        audio: the path of the recording in the corpus.
    """
    path = root / audio
    parent = next((parent for parent in Path(audio).parents if os.path.isdir(root / parent)), None)  # noqa: PTH112
    if parent is None:
        return f"{audio}: no such file; the folder of relative audio paths does not exist"
    if parent != Path(audio).parent:
        folder = parent / Path(audio).parts[len(parent.parts)]
        return f"{audio}: no such file, and no folder {folder}; are audio paths relative to another folder?"
    stem = path.stem.lower()
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.name.lower().startswith(stem))
    except OSError:
        names = []
    if not names:
        return f"{audio}: no such file"
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{audio}: no such file; its folder contains {shown}"
