"""``tts-prep reindex``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import WRITTEN_STORE
from tts_prep.cli.verbosity import quiet_option, say


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@quiet_option
def reindex(store: Path) -> None:
    r"""Rebuild the index, the failure list and the manifest of STORE from its shards.

    Every shard is checked first. Repairing a broken shard needs the corpus: see 'tts-prep verify --help'.

    \b
    Example:
      tts-prep reindex store
    """
    from tts_prep.format.assembly import reindex_store
    from tts_prep.quantities import count_text

    totals = reindex_store(store).totals
    shards = count_text(totals["shards"], "shard")
    say(f"{store}: index, failures and manifest of {shards}, {count_text(totals['utterances'], 'row')}")
