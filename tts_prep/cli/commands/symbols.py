"""``tts-prep symbols``."""

from __future__ import annotations

import click

from tts_prep.cli.options import completion
from tts_prep.preprocess.configuration.options import symbol_tables


@click.command()
@click.argument("name", required=False, shell_complete=completion(symbol_tables))
def symbols(name: str | None) -> None:
    r"""List the symbol tables, or print the table NAME.

    The output for NAME is a file for --symbols: one symbol per line, in the order of ids.

    \b
    Examples:
      tts-prep symbols
      tts-prep symbols piper
    """
    from tts_prep.preprocess.text.symbols import TABLES, get_table

    if name is None:
        for table in TABLES.values():
            click.echo(f"{table.name:<21}{len(table.symbols):>4} symbols  {table.made_for}")
        return
    for symbol in get_table(name).symbols:
        click.echo(symbol)
