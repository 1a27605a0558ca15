"""Progress of a run: a bar on a terminal, periodic lines otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO

from tts_prep.cli import interruption
from tts_prep.cli.verbosity import is_quiet
from tts_prep.preprocess.make.shard_run import Progress
from tts_prep.quantities import duration_text

if TYPE_CHECKING:
    from tqdm import tqdm

_PLAIN_INTERVAL = 10.0
"""Seconds between lines if the output is not a terminal."""

_CLOCK_INTERVAL = 1.0
"""Seconds between redrawings of the bar."""

_BAR_FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
"""tqdm's default format without the rate, for which 80 columns have no space."""


@contextmanager
def make_progress(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that shows the progress of a run on a stream."""
    started = time.monotonic()
    with _counter(stream, "utterances") as count:
        yield lambda now: count(now.done + now.under_way, now.total, _text(now, started))


@contextmanager
def make_shard_progress(stream: TextIO) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows on a stream how many shards of all are done."""
    with _counter(stream, "shards") as count:
        yield lambda done, total: count(done, total, "")


@contextmanager
def make_step_progress(stream: TextIO) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a callback that shows on a stream how many utterances of all are done in the named step."""
    with _counter(stream, "utterances") as count:
        yield count


@contextmanager
def _counter(stream: TextIO, noun: str) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a callback that shows a count, its total and a text."""
    if is_quiet():
        yield lambda *_: interruption.check()
        return
    if not stream.isatty():
        last = time.monotonic()

        def show(done: int, total: int, text: str) -> None:
            nonlocal last
            interruption.check()
            now = time.monotonic()
            if now - last >= _PLAIN_INTERVAL:
                last = now
                print(", ".join(filter(None, [f"{done:,} of {total:,} {noun}", text])), file=stream)

        yield show
        return
    from tqdm import tqdm

    with ExitStack() as stack:
        bar: tqdm[NoReturn] | None = None

        def update(done: int, total: int, text: str) -> None:
            nonlocal bar
            interruption.check()
            if bar is None:
                # Created when the total is known.
                bar = stack.enter_context(
                    tqdm(
                        total=total, file=stream, dynamic_ncols=True, leave=False, smoothing=0.1, bar_format=_BAR_FORMAT
                    )
                )
                stack.enter_context(_redrawn(bar))
            bar.set_postfix_str(text, refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield update


@contextmanager
def _redrawn(bar: tqdm[NoReturn]) -> Iterator[None]:
    """Redraw a bar every second, so that its clock runs while a shard or the compiler takes longer."""
    ended = threading.Event()

    def redraw() -> None:
        interruption.leave_to_main_thread()
        while not ended.wait(_CLOCK_INTERVAL):
            bar.refresh()

    thread = threading.Thread(target=redraw, name="progress bar", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        # An interruption of tqdm can leave its lock locked.
        thread.join(1)


def _text(progress: Progress, started: float) -> str:
    if progress.step:
        return progress.step
    if not progress.done + progress.under_way:
        return "starting"
    seconds = progress.seconds + progress.under_way_seconds
    speed = (progress.made_seconds + progress.under_way_seconds) / max(
        1e-9, time.monotonic() - started - progress.compiling
    )
    # First, because a narrow terminal cuts the end of the line.
    failed = f"{progress.failures:,} failed, " if progress.failures else ""
    return f"{failed}{duration_text(seconds)} of audio, {speed:,.0f} × real time"
