"""``tts-prep export-scp``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command("export-scp")
@click.argument("store", type=FOLDER)
@click.argument("folder", type=FOLDER)
def export_scp(store: Path, folder: Path) -> None:
    r"""Write feat.scp, text, utt2spk and the other files of 'id value' lines that describe STORE to FOLDER.

    They name the store's rows; the arrays stay where they are.

    \b
    Example:
      tts-prep export-scp store data/train
    """
    from tts_prep.loader.recipes.kaldi_files import export_scp as write_files

    for path in write_files(store, folder):
        click.echo(path)
