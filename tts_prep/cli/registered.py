"""Commands for the corpus readers of other packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


def make_command(name: str) -> click.Command:
    """Return the command of a reader that another package registers; the package is loaded when it is run."""

    @click.command(name, help=f"Make STORE of CORPUS, with the reader '{name}' of another package.")
    @click.argument("corpus", type=FOLDER)
    @click.argument("store", type=FOLDER)
    @corpus_options
    def command(corpus: Path, store: Path, **options: Any) -> None:
        from tts_prep.cli.preparing import prepare_and_report

        prepare_and_report(name, corpus, store, options)

    return command
