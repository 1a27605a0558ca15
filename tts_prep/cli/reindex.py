"""``tts-prep reindex``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import PATH


@click.command()
@click.argument("store", type=PATH)
def reindex(store: Path) -> None:
    r"""Rebuild the index, the failure list and the manifest of STORE from its shards.

    Every shard is checked first. Repairing a broken shard needs the corpus: see 'tts-prep verify --help'.

    \b
    Example:
      tts-prep reindex store
    """
    from tts_prep.format.assembly import reindex_store

    totals = reindex_store(store).totals
    click.echo(f"{store}: index, failures and manifest of {totals['shards']:,} shards, {totals['utterances']:,} rows")
