"""The options ``--quiet``, of all commands on a store, and ``--verbose``, of those that build shards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from tts_prep.errors import one_line

F = TypeVar("F", bound=Callable[..., Any])

_KEY = "tts_prep.verbosity"


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
