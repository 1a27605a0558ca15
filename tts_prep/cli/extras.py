"""The extras of tts-prep by library, for messages about missing libraries."""

from __future__ import annotations

import click

from tts_prep import doors
from tts_prep.cli.verbosity import is_quiet


def warn_without_compiler() -> None:
    """Print on stderr that measuring takes long, if numba cannot be imported, unless ``--quiet`` is set."""
    from tts_prep.compiler import is_available

    if not is_quiet() and not is_available():
        click.echo(
            "note: numba is not installed, so measuring an hour of audio takes 10 minutes instead of seconds: "
            "pip install 'tts-prep[prepare]'",
            err=True,
        )


def missing_library(name: str | None) -> str | None:
    """Return the error message for a library that cannot be imported; None if no extra installs it."""
    library = (name or "").partition(".")[0]
    extra = doors.libraries().get(library)
    return f"this command needs {library}, which is not installed: pip install 'tts-prep[{extra}]'" if extra else None
