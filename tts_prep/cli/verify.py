"""``tts-prep verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command()
@click.argument("store", type=FOLDER)
@click.option("--repair", type=FOLDER, metavar="CORPUS", help="Make what is broken again, from the corpus.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), metavar="N", help="Worker processes.  [default: 1]")
def verify(store: Path, repair: Path | None, jobs: int | None) -> int:
    r"""Compare every file of STORE with its checksum and its number of rows.

    Exit status 1 and a list where something is wrong. With --repair, the broken shards, and no others, are made again
    with the settings that the store was made with.

    \b
    Example:
      tts-prep verify store
      tts-prep verify store --repair LJSpeech-1.1
    """
    from tts_prep.format.verification import verify_store
    from tts_prep.quantities import bytes_text

    if repair is not None:
        return _repair(store, repair, jobs or 1)
    count = size = 0
    faults = []
    for entry, fault in verify_store(store):
        count, size = count + 1, size + entry.size
        if fault:
            faults.append(fault)
            click.echo(f"{entry.file}: {fault}")
    if faults:
        click.echo(f"tts-prep: error: {store}: {len(faults)} of {count} files are not as they were made", err=True)
        return 1
    click.echo(f"{store}: {count} files, {bytes_text(size)}, all as they were made")
    return 0


def _repair(store: Path, corpus: Path, jobs: int) -> int:
    from tts_prep.cli.progress import make_progress
    from tts_prep.format.verification import require_whole
    from tts_prep.preprocess.repair import repair_store

    with make_progress(sys.stderr) as progress:
        result, broken = repair_store(store, corpus, jobs=jobs, progress=progress)
    require_whole(store)
    if not broken:
        click.echo(f"{store}: all {len(result.manifest.files) + 1} files as they were made; nothing to repair")
        return 0
    click.echo(f"{store}: {', '.join(broken)} broken; made {result.shards_made:,} shards, the index and the manifest")
    return 0
