"""Progress of a run: a bar on a terminal, periodic lines otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NoReturn, TextIO

from tqdm import tqdm

from tts_prep.cli import interruption
from tts_prep.preprocess.runs.prepare import Progress
from tts_prep.quantities import duration_text

_PLAIN_INTERVAL = 10.0
"""Seconds between lines if the output is not a terminal."""


@contextmanager
def make_progress(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that shows progress on a stream."""
    started = time.monotonic()
    if not stream.isatty():
        last = started

        def show(progress: Progress) -> None:
            nonlocal last
            interruption.check()
            now = time.monotonic()
            if now - last >= _PLAIN_INTERVAL:
                last = now
                print(f"{progress.done:,} of {progress.total:,} utterances, {_text(progress, started)}", file=stream)

        yield show
        return
    with ExitStack() as stack:
        bar: tqdm[NoReturn] | None = None

        def update(progress: Progress) -> None:
            nonlocal bar
            interruption.check()
            if bar is None:
                # Created when the total is known.
                bar = stack.enter_context(
                    tqdm(total=progress.total, file=stream, unit="utt", dynamic_ncols=True, leave=False, smoothing=0.1)
                )
            bar.set_postfix_str(_text(progress, started), refresh=False)
            bar.update(progress.done - bar.n)
            bar.refresh()

        yield update


def _text(progress: Progress, started: float) -> str:
    if not progress.done:
        return "starting; the first run on a machine compiles the mel kernel, once"
    speed = progress.made_seconds / max(1e-9, time.monotonic() - started - progress.compiling)
    failed = f", {progress.failures:,} failed" if progress.failures else ""
    return f"{duration_text(progress.seconds)} of audio, {speed:,.0f} × real time{failed}"
