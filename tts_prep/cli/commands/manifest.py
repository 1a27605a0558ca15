"""``tts-prep manifest``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from tts_prep.cli.grouped_help import GroupedCommand
from tts_prep.cli.options import PATH, corpus_options


@click.command(cls=GroupedCommand)
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE…")
@click.argument("store", type=PATH)
@click.option(
    "--root", type=PATH, metavar="DIR", help="The folder of relative audio paths.  [default: the folder of each FILE]"
)
@click.option(
    "--columns",
    metavar="ROLE=COLUMN,…",
    help="The columns by role: audio, text, normalized_text, id, speaker, language, start, end, duration.  "
    "[default: guessed from their names, and printed]",
)
@corpus_options
def manifest(files: tuple[Path, ...], store: Path, root: Path | None, columns: str | None, **options: Any) -> None:
    r"""Make STORE of the recordings listed in manifests, or contained in them.

    A FILE can be:

    \b
      .jsonl, .json     NeMo, Emilia, audiofolder; lhotse's cuts, or supervisions and recordings (also .gz)
      .csv, .tsv        with a header: Common Voice, F5-TTS, Hi-Fi TTS, audiofolder
      .parquet, .arrow  Hugging Face datasets, recordings inside or as paths
      .tar              WebDataset, Emilia; recordings are read in place
      a folder          with any of these

    \b
    Examples:
      tts-prep manifest train_manifest.json store
      tts-prep manifest cv-corpus/en/train.tsv store --columns speaker=client_id
      tts-prep manifest cuts.jsonl.gz store --root recordings
    """
    from tts_prep.cli.preparing import prepare_and_report

    corpus = Path(os.path.commonpath([path.absolute() if path.is_dir() else path.absolute().parent for path in files]))
    reader_options: dict[str, Any] = {"files": [os.path.relpath(path, corpus) for path in files]}
    if columns:
        reader_options["columns"] = columns
    prepare_and_report("manifest", corpus, store, options, root=root, reader_options=reader_options)
