"""The files in which the compiler keeps compiled code from one process to the next."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType
from typing import Any

from tts_prep.preprocess.audio.simd import fft, kernel, lanes


def remove_compiled() -> bool:
    """Remove the compiled code of this folder's modules; return whether there was any."""
    removed = False
    for module in (lanes, fft, kernel):
        for folder in _cache_folders(module):
            for path in folder.glob(f"{module.__name__.rpartition('.')[2]}.*.nb[ci]"):
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed = True
    return removed


def _cache_folders(module: ModuleType) -> set[Path]:
    """Return where the compiler keeps the code of a module's functions: beside it, or in the user's own cache."""
    functions: list[Any] = [value for value in vars(module).values() if hasattr(value, "stats")]
    return {Path(function.stats.cache_path) for function in functions if function.stats.cache_path}
