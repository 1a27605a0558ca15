"""``tts-prep reindex``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command()
@click.argument("store", type=FOLDER)
def reindex(store: Path) -> None:
    r"""Make the index, the list of failures and the manifest of STORE again, from its shards alone.

    Every shard is checked first. A broken one needs the corpus: see 'tts-prep verify --help'.

    \b
    Example:
      tts-prep reindex store
    """
    from tts_prep.format.assembly import reindex_store

    totals = reindex_store(store).totals
    click.echo(f"{store}: index, failures and manifest of {totals['shards']:,} shards, {totals['utterances']:,} rows")
