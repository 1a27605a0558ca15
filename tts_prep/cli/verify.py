"""``tts-prep verify``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command()
@click.argument("store", type=FOLDER)
def verify(store: Path) -> int:
    r"""Compare every file of STORE with its checksum and its number of rows.

    Exit status 1 and a list where something is wrong.

    \b
    Example:
      tts-prep verify store
    """
    from tts_prep.cli.quantities import bytes_text
    from tts_prep.format.verification import verify_store

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
