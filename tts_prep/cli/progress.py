"""Progress of a command: a bar on a terminal, periodic lines otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn, TextIO

from tts_prep.cli import interruption
from tts_prep.cli.verbosity import is_quiet
from tts_prep.progress import Progress, ShowProgress
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
def make_progress(stream: TextIO) -> Iterator[ShowProgress]:
    """Yield a callback that shows the progress of a command on a stream."""
    started = time.monotonic()
    if is_quiet():
        yield lambda *_: interruption.check()
        return
    # Some commands need no extra, and so no tqdm.
    if not stream.isatty() or not find_spec("tqdm"):
        last = time.monotonic()

        def show(now: Progress) -> None:
            nonlocal last
            interruption.check()
            clock = time.monotonic()
            if clock - last >= _PLAIN_INTERVAL:
                last = clock
                count = f"{now.done + now.under_way:,} of {now.total:,} {now.unit}"
                print(", ".join(filter(None, [count, _text(now, started)])), file=stream)

        yield show
        return
    from tqdm import tqdm

    with ExitStack() as stack:
        bar: tqdm[NoReturn] | None = None

        def update(now: Progress) -> None:
            nonlocal bar
            interruption.check()
            if bar is None:
                # Created when the total is known.
                bar = stack.enter_context(
                    tqdm(
                        total=now.total,
                        file=stream,
                        dynamic_ncols=True,
                        leave=False,
                        smoothing=0.1,
                        bar_format=_BAR_FORMAT,
                    )
                )
                stack.enter_context(_redrawn(bar))
            bar.set_postfix_str(_text(now, started), refresh=False)
            bar.update(now.done + now.under_way - bar.n)
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
    """Return what a command does; in a run, how much audio it has made, and how fast."""
    if progress.step or progress.unit != "utterances":
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
