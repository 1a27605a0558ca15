"""``tts-prep plan``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tts_prep.cli.options import Integer, integer_option, store_or_url
from tts_prep.cli.verbosity import quiet_option, say
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.report.policies import PolicyCost

_COUNT = Integer(min=1)


@click.command()
@store_or_url
@click.option(
    "--max-frames", type=_COUNT, multiple=True, metavar="N", help="Maximum padded frames per batch; may be repeated."
)
@click.option("--batch-size", type=_COUNT, multiple=True, metavar="N", help="Utterances per batch; may be repeated.")
@integer_option("--world-size", "Number of ranks.", default=1, least=1)
@integer_option("--seed", "Seed of the samplers.", default=0)
@integer_option("--epoch", "Number of the epoch; the first is 0.", default=0)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
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

    from tts_prep.format.files.paths import without_secret
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


def _say_table(costs: Sequence[PolicyCost]) -> None:
    """Print one line per batching policy, below the names of the columns."""
    from tts_prep.quantities import bytes_text

    head = ("policy", "batches", "steps", "utterances", "frames", "phonemes", "largest batch", "shapes")
    rows = [
        (
            cost.policy,
            f"{cost.batches:,}",
            f"{cost.steps:,}",
            f"{cost.smallest:,}–{cost.largest:,}" if cost.smallest < cost.largest else f"{cost.largest:,}",
            f"{cost.frame_padding:.1%}",
            f"{cost.phoneme_padding:.1%}",
            bytes_text(cost.largest_bytes),
            f"{cost.shapes:,}",
        )
        for cost in costs
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for number, row in enumerate((head, *rows)):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        say(click.style("  ".join(cells), bold=number == 0 or None))
