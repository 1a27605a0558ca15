"""The options ``--quiet``, of all commands on a store, and ``--verbose``, of those that build shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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


def _printing_log(verbosity: int) -> Any:
    # Import logging only if needed.
    from tts_prep.cli.log import printing_log

    return printing_log(verbosity)
