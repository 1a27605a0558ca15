"""``tts-prep export-scp``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import OUTPUT_FOLDER, READ_STORE
from tts_prep.cli.verbosity import quiet_option, say


@click.command("export-scp")
@click.argument("store", type=READ_STORE)
@click.argument("folder", type=OUTPUT_FOLDER)
@click.option(
    "--speechain", is_flag=True, help="Use the names of SpeeChain's recipes: idx2feat, idx2wav, idx2text, idx2spk."
)
@quiet_option
def export_scp(store: Path, folder: Path, speechain: bool) -> None:
    r"""Write tables that refer to the rows of STORE to FOLDER, for SpeeChain's configurations.

    These are feat.scp, text, phoneme_text, utt2spk, utt2num_frames and a file for each column of the corpus, with lines
    of an id and a value. No array is copied: a value of feat.scp is STORE:ROW, which only build_iterators of
    tts_prep.recipes reads. For Kaldi, with feats.ark and wav.scp, use: tts-prep export STORE FOLDER --to kaldi

    \b
    Example:
      tts-prep export-scp store data/train
    """
    from tts_prep.recipes.kaldi_files import export_scp as write_files

    for path in write_files(store, folder, speechain):
        say(str(path))
