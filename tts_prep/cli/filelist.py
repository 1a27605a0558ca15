"""``tts-prep filelist``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


@click.command()
@click.argument("file", type=FOLDER)
@click.argument("store", type=FOLDER)
@click.option("--root", type=FOLDER, metavar="DIR", help="What paths are relative to.  [default: the folder of FILE]")
@click.option(
    "--columns", metavar="A|B|…", help="What the fields are.  [default: path|text, with a speaker as its place tells]"
)
@corpus_options
def filelist(file: Path, store: Path, root: Path | None, columns: str | None, **options: Any) -> None:
    r"""Make STORE of the recordings that FILE lists, one a line, fields separated by '|'.

    Lists of NVIDIA's, VITS's and StyleTTS2's repositories are taken as they are. With --columns, fields may be path,
    text, speaker, id, language, any name for a column of the store, and - for what is not used.

    \b
    Example:
      tts-prep filelist train_list.txt store --root wavs --frontend phonemes
    """
    from tts_prep.cli.preparing import prepare_and_report

    reader_options = {"columns": columns} if columns else {}
    prepare_and_report("filelist", file, store, options, root=root, reader_options=reader_options)
