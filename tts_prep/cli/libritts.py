"""``tts-prep libritts``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


@click.command()
@click.argument("corpus", type=FOLDER)
@click.argument("store", type=FOLDER)
@click.option(
    "--subset",
    "subsets",
    multiple=True,
    metavar="NAME",
    help="Take this subset only; may be given several times.  [default: all]",
)
@corpus_options
def libritts(corpus: Path, store: Path, subsets: tuple[str, ...], **options: Any) -> None:
    r"""Make STORE of the LibriTTS or LibriTTS-R corpus at CORPUS.

    CORPUS holds the subsets, such as train-clean-100, and speakers.tsv. The subset becomes the column split; chapter
    and gender are columns too.

    \b
    Example:
      tts-prep libritts LibriTTS_R store --subset train-clean-100 --subset dev-clean
    """
    from tts_prep.cli.preparing import prepare_and_report

    reader_options = {"subsets": sorted(subsets)} if subsets else {}
    prepare_and_report("libritts", corpus, store, options, reader_options=reader_options)
