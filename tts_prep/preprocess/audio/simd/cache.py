"""The compiler's cache files."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core import event

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


@contextmanager
def reporting_compilation(report: Callable[[], None]) -> Iterator[None]:
    """Call a function when this thread compiles the first function in this block, having found it in no cache.

    An error of it is raised in the block, and nothing is compiled.
    """
    with event.install_listener("numba:compile", _FirstCompilation(report)):
        yield


class _FirstCompilation(event.Listener):
    def __init__(self, report: Callable[[], None]) -> None:
        self._report: Callable[[], None] | None = report
        self._thread = threading.get_ident()

    def on_start(self, event: object) -> None:  # noqa: ARG002 - the signature is the compiler's
        # The compiler tells all listeners what any thread compiles.
        if threading.get_ident() != self._thread:
            return
        report, self._report = self._report, None
        if report:
            report()

    def on_end(self, event: object) -> None:
        pass


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
