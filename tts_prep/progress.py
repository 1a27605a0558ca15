"""How far a command is: one record for all of them, and a bar that shows it in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn, TypeAlias

from tts_prep.errors import MissingPackageError


@dataclass(frozen=True)
class Progress:
    """How far a command is.

    Attributes:
        done, total: how many are finished, and how many there are; in a run all rows of the corpus, also failed ones.
        seconds: in a run, the duration of the audio in finished shards.
        failures: in a run, the number of failed rows so far.
        made_seconds: the duration of the audio in shards made by this run, not by an earlier one.
        compiling: the seconds spent compiling the mel kernel before the first shard; 0 unless this run compiled it.
        under_way: the number of rows that unfinished shards have so far.
        under_way_seconds: the duration of their audio.
        step: what the command does at the moment, such as compiling the mel kernel; empty for making shards.
        unit: what is counted: ``utterances`` or ``shards``.
    """

    done: int
    total: int
    seconds: float = 0.0
    failures: int = 0
    made_seconds: float = 0.0
    compiling: float = 0.0
    under_way: int = 0
    under_way_seconds: float = 0.0
    step: str = ""
    unit: str = "utterances"


ShowProgress: TypeAlias = Callable[[Progress], None]
"""Called with the progress, often; it may raise to interrupt the command."""


def in_notebooks(now: Progress) -> None:
    """Show the progress as a `ProgressBar` in a notebook that has tqdm, and nothing elsewhere."""
    if bar := _notebook_bar():
        bar(now)


@cache
def _notebook_bar() -> ProgressBar | None:
    # IPython is there if this process is a kernel, which its configuration says; a terminal's IPython is not one.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    with suppress(MissingPackageError):
        return ProgressBar() if "IPKernelApp" in getattr(shell, "config", ()) else None
    return None


class ProgressBar:
    """Shows progress as a bar of tqdm: as text in a terminal, as a widget in a notebook.

    Example:
        >>> from tts_prep.preprocess import Progress, ProgressBar
        >>> show = ProgressBar()
        >>> show(Progress(3, 3))  # as prepare, add_array or measure do, with progress=show

    Raises:
        MissingPackageError: tqdm is not installed.
    """

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                # Without ipywidgets the bar is a text, of which tqdm warns.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError as error:
            raise MissingPackageError("a progress bar needs tqdm: pip install 'tts-prep[prepare]'") from error
        self._make = tqdm
        self._bar: tqdm[NoReturn] | None = None
        self._step = ""

    def __call__(self, now: Progress) -> None:
        """Show the progress; the bar ends with the last of its total, and what follows has another."""
        n = now.done + now.under_way
        if not (bar := self._bar) or (bar.total, bar.unit) != (now.total, now.unit) or (bar.n and not n):
            self._end()
            self._bar = bar = self._make(total=now.total, unit=now.unit)
        bar.update(n - bar.n)
        if now.step != self._step:
            self._step = now.step
            self._bar.set_postfix_str(now.step)
        if now.done == now.total:
            self._end()

    def _end(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()


def now_and_then(call: Callable[[Any], object], seconds: float) -> Callable[[Any], None]:
    """Return a function that calls another one at most every so many seconds, and ignores what is between."""
    last = time.monotonic()

    def maybe(value: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            call(value)

    return maybe
