"""``tts-prep report``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import PATH


@click.command()
@click.argument("store", type=PATH)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="The page to write; an existing file is replaced.",
)
@click.option(
    "--gallery",
    type=click.IntRange(0, 200),
    default=12,
    show_default=True,
    metavar="N",
    help="Number of random utterances to show.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of the gallery."
)
def report(store: Path, output: Path, gallery: int, seed: int) -> None:
    r"""Make a page about STORE to review before training.

    The page is a single file that needs no network and contains no script. It shows distributions, speakers, outliers,
    a gallery (with sound if the store has waveforms), symbols, padding, and failed rows.

    \b
    Examples:
      tts-prep report store
      tts-prep report store -o report.html --gallery 30
    """
    from tts_prep.errors import StoreError
    from tts_prep.quantities import bytes_text
    from tts_prep.report.page import write_report
    from tts_prep.report.summary import summarise

    if not output.absolute().parent.is_dir():
        raise StoreError(
            f"{output}: cannot be written, there is no folder {output.parent}; make it, or give another path"
        )
    summary = summarise(store, gallery=gallery, seed=seed)
    try:
        write_report(summary, output)
    except OSError as error:
        raise StoreError(f"{output}: cannot be written ({error.strerror})") from error
    click.echo(f"{output}: {len(summary.dataset):,} utterances on one page, {bytes_text(output.stat().st_size)}")
