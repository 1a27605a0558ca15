"""Which share of an epoch a process gets."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal, TypeAlias

from tts_prep.errors import ConfigurationError

Rank: TypeAlias = int | Literal["auto"]


def resolve_rank(rank: Rank, world_size: int) -> tuple[int, int]:
    """Return rank and number of ranks.

    Args:
        rank: from 0 on, or ``"auto"``: of the process group of ``torch.distributed``, 0 of 1 where none runs.
        world_size: the number of ranks; not with ``"auto"``.

    Raises:
        ConfigurationError: there is no such rank; ``"auto"`` is given a number of ranks, or the process was started
            as one of several and its process group does not run yet.
    """
    if rank != "auto":
        check_rank(rank, world_size)
        return rank, world_size
    if world_size != 1:
        raise ConfigurationError(f"rank='auto' takes the number of ranks from torch.distributed; found {world_size=}")
    group = process_group()
    if group is None:
        started = os.environ.get("WORLD_SIZE", "1")
        if started not in ("", "1"):
            raise ConfigurationError(
                f"rank='auto': this process is one of {started}, but torch.distributed has no process group yet; make "
                "the sampler after init_process_group"
            )
        return 0, 1
    return group


def process_group() -> tuple[int, int] | None:
    """Return rank and number of ranks of torch's process group; None where none runs. Does not import torch."""
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def check_rank(rank: int, world_size: int) -> None:
    """Make sure that there is such a rank.

    Raises:
        ConfigurationError: there is not.
    """
    if not isinstance(rank, int) or world_size < 1 or not 0 <= rank < world_size:
        raise ConfigurationError(
            f"rank {rank!r} of {world_size}: expected a world size from 1 on, and a rank below it or 'auto'"
        )
