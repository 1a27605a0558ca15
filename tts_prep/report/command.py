"""``tts-prep report``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import OUTPUT_FILE, PATH, READ_STORE, integer_option
from tts_prep.cli.verbosity import quiet_option, say, warn_without_compiler

if TYPE_CHECKING:
    from tts_prep.report.summary import Summary


def _review_address(ctx: click.Context, param: click.Parameter, value: str | None) -> str:  # noqa: ARG001
    if value and not re.fullmatch(r"http://(127\.0\.0\.1|localhost):[0-9]{1,5}/[\w-]{1,100}/", value):
        raise click.BadParameter(f"expected the address that 'tts-prep review' has printed, found '{value}'")
    return value or ""


@click.command()
@click.argument("store", type=READ_STORE)
@click.argument("other", type=PATH, required=False)
@click.option(
    "--output",
    "-o",
    type=OUTPUT_FILE,
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="The page to write; an existing file is replaced.",
)
@click.option("--csv", "csv_file", type=OUTPUT_FILE, metavar="FILE", help="Also write all columns of all utterances.")
@integer_option("--gallery", "Number of random utterances to show.", default=12, most=200)
@integer_option("--seed", "Seed of the gallery.", default=0)
@integer_option(
    "--max-sound", "Maximum size of all sounds, suspects first; 0 for none.", default=12, most=1000, metavar="MB"
)
@integer_option("--suspects", "Number of suspects of each reason to show.", default=3, most=10_000)
@click.option(
    "--review", callback=_review_address, metavar="ADDRESS", help="Make ids links to the page of 'tts-prep review'."
)
@quiet_option
def report(
    store: Path,
    other: Path | None,
    output: Path,
    csv_file: Path | None,
    gallery: int,
    seed: int,
    max_sound: int,
    suspects: int,
    review: str,
) -> None:
    r"""Make a page about STORE to review before training.

    The page shows suspects, speakers, distributions, symbols, padding, outliers, a gallery of random utterances, and
    failed rows; utterances have sound if the store has waveforms. It is a single file that needs no network and
    contains no script.

    With a second store, OTHER, the page shows the differences between the two.

    \b
    Examples:
      tts-prep report store
      tts-prep report store -o report.html --csv utterances.csv
      tts-prep report store-22k store-24k -o comparison.html
    """
    from tts_prep.quantities import bytes_text, count_text
    from tts_prep.report.page import write_report
    from tts_prep.report.summary import summarise, write_table

    _check_files(other, output, csv_file)
    warn_without_compiler()
    summary = summarise(store, gallery=gallery, seed=seed)
    if other is not None:
        _compare(summary, other, output)
        return
    write_report(summary, output, max_sound * 1_000_000, per_reason=suspects, review=review)
    say(f"{output}: {count_text(len(summary.dataset), 'utterance')} on one page, {bytes_text(output.stat().st_size)}")
    if csv_file is not None:
        write_table(summary, csv_file)
        say(f"{csv_file}: {count_text(len(summary.checked), 'utterance')}, {bytes_text(csv_file.stat().st_size)}")


def _compare(summary: Summary, other: Path, output: Path) -> None:
    """Write a page about the differences of two stores."""
    from tts_prep.quantities import bytes_text
    from tts_prep.report.comparison import compare
    from tts_prep.report.comparison_page import write_comparison
    from tts_prep.report.summary import summarise

    second = summarise(other, gallery=0)
    write_comparison(compare(summary, second), output)
    compared = f"{len(summary.dataset):,} and {len(second.dataset):,} utterances compared"
    say(f"{output}: {compared}, {bytes_text(output.stat().st_size)}")


def _check_files(other: Path | None, output: Path, csv_file: Path | None) -> None:
    from tts_prep.errors import ConfigurationError

    if other is not None and other.suffix == ".html":
        raise ConfigurationError(f"{other}: expected a second store; give the page with -o {other}")
    if output.suffix.lower() not in ("", ".html", ".htm"):
        raise ConfigurationError(
            f"{output}: the page is HTML; give -o {output.with_suffix('.html')}, which browsers print"
        )
    if other is not None and csv_file is not None:
        raise ConfigurationError("--csv: supported for one store only, found two")
