"""``tts-prep ljspeech``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


@click.command()
@click.argument("corpus", type=FOLDER)
@click.argument("store", type=FOLDER)
@corpus_options
def ljspeech(corpus: Path, store: Path, **options: Any) -> None:
    r"""Make STORE of the LJ Speech corpus, or a folder of its shape, at CORPUS.

    CORPUS holds metadata.csv (id|text|normalized text) and wavs/<id>.wav. A run that was interrupted goes on when the
    same command is given again.

    \b
    Example:
      tts-prep ljspeech LJSpeech-1.1 store --jobs 8
    """
    from tts_prep.cli.preparing import prepare_and_report

    prepare_and_report("ljspeech", corpus, store, options)
