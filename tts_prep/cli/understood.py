"""The first lines of a run: what the command understood, before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.runs.prepare import Progress


def understood(corpus: Path, config: Configuration) -> str:
    """Return one line on what a run reads and how."""
    text = config.text
    return (
        f"corpus: {config.corpus} {corpus}; preset: {config.preset or 'none'}; frontend: {text.frontend_name}, "
        f"language {text.language}{'' if text.normalize else ', texts as they stand'}"
    )


def with_first_lines(lines: list[str], progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Return a callback that prints lines and the number of rows before it shows progress for the first time.

    Args:
        lines: may grow until then; emptied.
        progress: shows it.
    """

    def show(now: Progress) -> None:
        if lines:
            click.echo("\n".join([*lines, f"rows: {now.total:,}"]))
            lines.clear()
        progress(now)

    return show
