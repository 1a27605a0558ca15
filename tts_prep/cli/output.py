"""What a command prints: lines, the log of a run and its progress, and the options ``--quiet`` and ``--verbose``."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from tts_prep.cli import interruption
from tts_prep.errors import one_line
from tts_prep.progress import Progress, ShowProgress
from tts_prep.quantities import duration_text

if TYPE_CHECKING:
    from tts_prep.format.records.arrays import ArraySpec

F = TypeVar("F", bound=Callable[..., Any])

_KEY = "tts_prep.verbosity"

_PLAIN_INTERVAL = 10.0
"""Seconds between lines if the output is not a terminal."""

_CLOCK_INTERVAL = 1.0
"""Seconds between redrawings of the bar."""

_BAR_FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
"""tqdm's default format without the rate, for which 80 columns have no space."""


def quiet_option(function: F) -> F:
    """Add ``--quiet``, which `say` and `make_progress` use; the function does not receive it."""
    quiet = click.option(
        "--quiet", "-q", is_flag=True, expose_value=False, callback=_set_quiet, help="Print errors only."
    )
    return quiet(function)


def verbosity_options(function: F) -> F:
    """Add ``--quiet``, and ``--verbose``, which prints the log of a run; the function does not receive them."""
    verbose = click.option(
        "--verbose",
        "-v",
        count=True,
        expose_value=False,
        callback=_set_verbose,
        help="Print the steps of the run and the failed rows; -vv also prints each shard.",
    )
    return quiet_option(verbose(function))


def say(line: str) -> None:
    """Print a line, which may have line breaks and colours, on stdout, unless ``--quiet`` is set."""
    if not is_quiet():
        click.echo(line)


def say_array(store: Path, spec: "ArraySpec", remarks: Mapping[str, Any]) -> None:
    """Print a line about an added array, and one about each kind of remark."""
    shape = "".join(f" × {n}" for n in spec.row_shape)
    say(f"{store}: {spec.name}, {spec.dtype}{shape}, by {spec.axis}")
    for remark in remarks.values():
        examples = ", ".join(f"{example['symbol']}: {example['count']:,}" for example in remark["examples"][:4])
        say(f"  {examples}")


def is_quiet() -> bool:
    """Return whether ``--quiet`` is set for the running command."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_KEY, 0) < 0)


def _set_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        if context.meta.get(_KEY, 0) > 0:
            raise click.UsageError("--quiet and --verbose exclude each other.", context)
        context.meta[_KEY] = -1


def _set_verbose(context: click.Context, _: click.Parameter, value: int) -> None:
    if value:
        if context.meta.get(_KEY, 0) < 0:
            raise click.UsageError("--quiet and --verbose exclude each other.", context)
        context.meta[_KEY] = value
        context.with_resource(_printing_log(value))


@contextmanager
def _printing_log(verbosity: int) -> Iterator[None]:
    """Print the records of the logger ``tts_prep`` on stderr, above the progress bar.

    Args:
        verbosity: 1 for steps and failed rows, 2 for shards too.
    """
    # Import logging only if needed: help texts do without.
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = one_line(record.getMessage())
            if sys.stderr.isatty():
                # tqdm redraws the progress bar below the line.
                from tqdm import tqdm

                tqdm.write(line, file=sys.stderr)
            else:
                print(line, file=sys.stderr)

    logger = logging.getLogger("tts_prep")
    handler, before = Lines(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def warn_without_compiler() -> None:
    """Print on stderr that measuring takes long, if numba cannot be imported, unless ``--quiet`` is set."""
    from tts_prep.compiler import is_available

    if not is_quiet() and not is_available():
        click.echo(
            "note: numba is not installed, so measuring an hour of audio takes 10 minutes instead of seconds: "
            "pip install 'tts-prep[prepare]'",
            err=True,
        )


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
        bar: Any = None

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
def _redrawn(bar: Any) -> Iterator[None]:
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
