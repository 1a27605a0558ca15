"""``tts-prep export``."""

from pathlib import Path

import click

from tts_prep import doors
from tts_prep import export as exports
from tts_prep.cli.options import OUTPUT_FOLDER, READ_STORE
from tts_prep.cli.output import quiet_option, say
from tts_prep.quantities import count_text


def _complete_layout(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the layouts for shell completion."""
    return [name for name in exports.LAYOUTS if name.startswith(incomplete)]


class _WithLayouts(click.Command):
    """A command whose help lists the layouts."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Layouts"):
            formatter.write_dl([(layout.name, layout.help) for layout in exports.LAYOUTS.values()])
        super().format_options(ctx, formatter)


@click.command(cls=_WithLayouts)
@click.argument("store", type=READ_STORE)
@click.argument("folder", type=OUTPUT_FOLDER)
@click.option(
    "--to", "layout", metavar="LAYOUT", required=True, shell_complete=_complete_layout, help="The layout to write."
)
@click.option(
    "--license",
    "licence",
    default="",
    metavar="ID|TEXT",
    help="With --to parquet: the licence of recordings and texts, such as cc-by-4.0.  [default: that of STORE]",
)
@quiet_option
def export(store: Path, folder: Path, layout: str, licence: str) -> None:
    r"""Write STORE to FOLDER in the layout of another system.

    \b
    Examples:
      tts-prep export store cuts --to lhotse
      tts-prep export store dataset --to parquet --license cc-by-4.0
    """
    files = exports.export(store, layout, folder, licence=licence, report=say)
    say(f"{folder}: {count_text(len(files), 'file')} in the layout of {layout}")
    doors.asked("sources", "outdated")(store)
