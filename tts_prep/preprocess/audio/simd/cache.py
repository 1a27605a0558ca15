"""The compiler's cache files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType
from typing import Any

from tts_prep.preprocess.audio.simd import fft, kernel, lanes


def remove_compiled() -> bool:
    """Remove the cached code of this package; return whether there was any."""
    removed = False
    for module in (lanes, fft, kernel):
        for folder in _cache_folders(module):
            for path in folder.glob(f"{module.__name__.rpartition('.')[2]}.*.nb[ci]"):
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed = True
    return removed


def n_compiled() -> int:
    """Return how many functions this process has compiled, having found them in no cache."""
    return sum(
        sum(function.stats.cache_misses.values())
        for module in (lanes, fft, kernel)
        for function in vars(module).values()
        if hasattr(function, "stats")
    )


def _cache_folders(module: ModuleType) -> set[Path]:
    """Return the cache folders of a module's functions: beside the module, or in the user's cache."""
    functions: list[Any] = [value for value in vars(module).values() if hasattr(value, "stats")]
    return {Path(function.stats.cache_path) for function in functions if function.stats.cache_path}
