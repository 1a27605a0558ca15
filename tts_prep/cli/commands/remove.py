"""``tts-prep remove``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tts_prep.cli.options import WRITTEN_STORE
from tts_prep.cli.verbosity import quiet_option, say


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@click.option("--columns", metavar="NAME,…", help="Columns that 'tts-prep add --columns' has added.")
@click.option("--array", "arrays", multiple=True, metavar="NAME", help="An added array; may be repeated.")
@quiet_option
def remove(store: Path, columns: str | None, arrays: tuple[str, ...]) -> None:
    r"""Remove added columns or arrays from a complete STORE.

    STORE changes only when the rest is complete; it is not changed in place.

    \b
    Examples:
      tts-prep remove store --columns wer,cer
      tts-prep remove store --array pitch --array voiced
    """
    from tts_prep.cli.freshness import forget_removed
    from tts_prep.cli.progress import make_progress
    from tts_prep.errors import ConfigurationError
    from tts_prep.preprocess.add.add_columns import remove_columns

    names = [name.strip() for name in (columns or "").split(",") if name.strip()]
    if not names and not arrays:
        raise ConfigurationError("nothing to remove; give --columns or --array")
    with make_progress(sys.stderr) as progress:
        remove_columns(store, names, arrays, progress=progress)
    forget_removed(store)
    say(f"{store}: removed {', '.join([*names, *arrays])}")
