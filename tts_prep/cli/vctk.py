"""``tts-prep vctk``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


@click.command()
@click.argument("corpus", type=FOLDER)
@click.argument("store", type=FOLDER)
@click.option(
    "--mic",
    type=click.Choice(["mic1", "mic2"]),
    default="mic1",
    show_default=True,
    help="Which microphone's recording.",
)
@corpus_options
def vctk(corpus: Path, store: Path, mic: str, **options: Any) -> None:
    r"""Make STORE of the VCTK corpus at CORPUS.

    CORPUS holds wav48_silence_trimmed or wav48, txt and speaker-info.txt. Age, gender, accent and region of the
    speakers become columns.

    \b
    Example:
      tts-prep vctk VCTK-Corpus-0.92 store --language en-gb
    """
    from tts_prep.cli.preparing import prepare_and_report

    prepare_and_report("vctk", corpus, store, options, reader_options={"mic": mic})
