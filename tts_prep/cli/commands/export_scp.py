"""``tts-prep export-scp``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import PATH
from tts_prep.cli.verbosity import quiet_option, say


@click.command("export-scp")
@click.argument("store", type=PATH)
@click.argument("folder", type=PATH)
@click.option(
    "--speechain", is_flag=True, help="Use the names of SpeeChain's recipes: idx2feat, idx2wav, idx2text, idx2spk."
)
@quiet_option
def export_scp(store: Path, folder: Path, speechain: bool) -> None:
    r"""Write feat.scp, text, utt2spk and other Kaldi tables of STORE to FOLDER.

    Each line is an id and a value. Arrays are not copied: feat.scp and wav.scp refer to rows of the store.

    \b
    Example:
      tts-prep export-scp store data/train
    """
    from tts_prep.recipes.kaldi_files import export_scp as write_files

    for path in write_files(store, folder, speechain):
        say(str(path))
