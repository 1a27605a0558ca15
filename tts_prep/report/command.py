"""``tts-prep report`` and ``tts-prep plan``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import PATH, READ_STORE, Integer, store_or_url, with_options
from tts_prep.cli.output import make_progress, quiet_option, say, warn_without_compiler
from tts_prep.errors import ConfigurationError
from tts_prep.format.files.paths import without_secret
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import bytes_text, count_text

if TYPE_CHECKING:
    from tts_prep.report.policies import PolicyCost
    from tts_prep.report.summary import Summary


def _review_address(ctx: click.Context, param: click.Parameter, value: str | None) -> str:  # noqa: ARG001
    if value and not re.fullmatch(r"http://(127\.0\.0\.1|localhost):[0-9]{1,5}/[\w-]{1,100}/", value):
        raise click.BadParameter(f"expected the address that 'tts-prep review' has printed, found '{value}'")
    return value or ""


@click.command()
@click.argument("store", type=READ_STORE)
@click.argument("other", type=PATH, required=False)
@with_options(OptionTable(__file__), "report")
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
    from tts_prep.report.page import write_report
    from tts_prep.report.summary import summarise, write_table

    _check_files(other, output, csv_file)
    warn_without_compiler()
    with make_progress(sys.stderr) as progress:
        summary = summarise(store, gallery=gallery, seed=seed, progress=progress)
    if other is not None:
        _compare(summary, summarise(other, gallery=0), output)
        return
    write_report(summary, output, max_sound * 1_000_000, per_reason=suspects, review=review)
    say(f"{output}: {count_text(len(summary.dataset), 'utterance')} on one page, {bytes_text(output.stat().st_size)}")
    if csv_file is not None:
        write_table(summary, csv_file)
        say(f"{csv_file}: {count_text(len(summary.checked), 'utterance')}, {bytes_text(csv_file.stat().st_size)}")


def _compare(first: Summary, second: Summary, output: Path) -> None:
    """Write a page about the differences of two stores."""
    from tts_prep.report.comparison import compare, write_comparison

    write_comparison(compare(first, second), output)
    compared = f"{len(first.dataset):,} and {len(second.dataset):,} utterances compared"
    say(f"{output}: {compared}, {bytes_text(output.stat().st_size)}")


def _check_files(other: Path | None, output: Path, csv_file: Path | None) -> None:
    if other is not None and other.suffix == ".html":
        raise ConfigurationError(f"{other}: expected a second store; give the page with -o {other}")
    if output.suffix.lower() not in ("", ".html", ".htm"):
        raise ConfigurationError(
            f"{output}: the page is HTML; give -o {output.with_suffix('.html')}, which browsers print"
        )
    if other is not None and csv_file is not None:
        raise ConfigurationError("--csv: supported for one store only, found two")


_COUNT = Integer(min=1)


@click.command()
@store_or_url
@with_options(OptionTable(__file__), "plan")
@quiet_option
def plan(
    store: Path | str,
    cache: Path | None,
    cache_size: int | None,
    max_frames: tuple[int, ...],
    batch_size: tuple[int, ...],
    world_size: int,
    seed: int,
    epoch: int,
    as_json: bool,
) -> None:
    r"""Show the batches and the padding of an epoch of STORE, one line per batching policy.

    Each --batch-size is shown in random order and in length buckets, each --max-frames in length buckets only. The
    default is --batch-size 32 and the equivalent --max-frames.

    \b
    Examples:
      tts-prep plan store
      tts-prep plan store --batch-size 16 --batch-size 32
      tts-prep plan s3://bucket/store --cache cache
      tts-prep plan store --max-frames 20000 --world-size 4 --json
    """
    import json
    from dataclasses import asdict

    from tts_prep.loader import UtteranceDataset
    from tts_prep.report.policies import default_budget, make_policies, policy_cost

    dataset = UtteranceDataset(store, cache=cache, cache_size=cache_size)
    if not max_frames and not batch_size:
        batch_size, max_frames = (32,), (default_budget(dataset, 32),)
    policies = make_policies(dataset, batch_size, max_frames, seed=seed)
    costs = [policy_cost(dataset, policy, epoch=epoch, world_size=world_size) for policy in policies]
    if as_json:
        say(json.dumps({"store": without_secret(store), "policies": [asdict(cost) for cost in costs]}, indent=1))
        return
    of_ranks = f"; {world_size} ranks" if world_size > 1 else ""
    utterances = count_text(len(dataset), "utterance")
    say(f"{without_secret(store)}: {utterances}, epoch {epoch}{of_ranks}; frames and phonemes: share of padding\n")
    _say_table(costs)


_COLUMNS: Mapping[str, Callable[[PolicyCost], str]] = {
    "policy": lambda cost: cost.policy,
    "batches": lambda cost: f"{cost.batches:,}",
    "steps": lambda cost: f"{cost.steps:,}",
    "utterances": lambda cost: (
        f"{cost.smallest:,}–{cost.largest:,}" if cost.smallest < cost.largest else f"{cost.largest:,}"
    ),
    "frames": lambda cost: f"{cost.frame_padding:.1%}",
    "phonemes": lambda cost: f"{cost.phoneme_padding:.1%}",
    "largest batch": lambda cost: bytes_text(cost.largest_bytes),
    "shapes": lambda cost: f"{cost.shapes:,}",
}
"""The text of a number of a policy, by the name of its column."""


def _say_table(costs: Sequence[PolicyCost]) -> None:
    """Print one line per batching policy, below the names of the columns."""
    rows = [(*_COLUMNS,), *([text(cost) for text in _COLUMNS.values()] for cost in costs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        say(click.style("  ".join(cells), bold=number == 0 or None))
