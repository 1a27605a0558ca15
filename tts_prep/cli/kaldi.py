"""``tts-prep kaldi``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_prep.cli.options import FOLDER, corpus_options


@click.command()
@click.argument("corpus", type=FOLDER)
@click.argument("store", type=FOLDER)
@click.option("--root", type=FOLDER, metavar="DIR", help="What paths in wav.scp are relative to.  [default: CORPUS]")
@corpus_options
def kaldi(corpus: Path, store: Path, root: Path | None, **options: Any) -> None:
    r"""Make STORE of the Kaldi data folder CORPUS.

    CORPUS holds wav.scp and text, and where there are any segments, utt2spk, spk2gender, utt2lang and other utt2NAME,
    which become columns; or the idx2wav, idx2text, idx2spk, idx2gen of SpeeChain. Commands in wav.scp are not run.

    \b
    Example:
      tts-prep kaldi data/train store --root .
    """
    from tts_prep.cli.preparing import prepare_and_report

    prepare_and_report("kaldi", corpus, store, options, root=root)
