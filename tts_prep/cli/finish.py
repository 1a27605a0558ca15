"""``tts-prep finish``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command()
@click.argument("store", type=FOLDER)
@click.option(
    "--max-failures", default="1%", show_default=True, metavar="N|P%", help="Give up when more rows than this failed."
)
def finish(store: Path, max_failures: str) -> None:
    r"""Make STORE whole when all its parts are there: failure list, index and manifest.

    The parts are made by a corpus command with --part K/N, in any order and on any number of machines.

    \b
    Example:
      tts-prep ljspeech LJSpeech-1.1 store --part 1/2
      tts-prep ljspeech LJSpeech-1.1 store --part 2/2
      tts-prep finish store
    """
    from tts_prep.cli.preparing import left_out, made_text
    from tts_prep.preprocess.runs.finish import finish_store

    manifest = finish_store(store, max_failures=max_failures)
    click.echo(made_text(store, manifest))
    if manifest.totals["failures"]:
        click.echo(left_out(store, manifest.totals["failures"]))
