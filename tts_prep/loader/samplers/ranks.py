"""The rank of a process and the number of ranks."""

from __future__ import annotations

import operator
import os
import sys
from typing import Any, Literal, TypeAlias

from tts_prep.errors import ConfigurationError

Rank: TypeAlias = int | Literal["auto"]


def resolve_rank(rank: Rank, world_size: int) -> tuple[int, int]:
    """Return rank and world size.

    Args:
        rank: 0 to world_size - 1, or ``"auto"``: that of ``torch.distributed``, or 0 without a process group.
        world_size: the number of ranks; must be 1 if the rank is ``"auto"``.

    Raises:
        ConfigurationError: the rank is out of range; a world size is given with ``"auto"``; or the process was started
            as one of several and its process group is not initialized yet.
    """
    if rank != "auto":
        check_rank(rank, world_size)
        return operator.index(rank), operator.index(world_size)
    if world_size != 1:
        raise ConfigurationError(f"rank='auto' takes the world size from torch.distributed, found {world_size=}")
    group = process_group()
    if group is None:
        started = os.environ.get("WORLD_SIZE", "1")
        if started not in ("", "1"):
            raise ConfigurationError(
                f"rank='auto': this process is one of {started}, but torch.distributed has no process group yet; "
                "create the sampler after init_process_group"
            )
        return 0, 1
    return group


def process_group() -> tuple[int, int] | None:
    """Return rank and world size of torch's process group; None if there is none. Does not import torch."""
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def is_sharded(sampler: Any) -> bool:
    """Return whether a sampler, also one of torch, gives every rank its own share of an epoch."""
    return any(getattr(sampler, name, 1) > 1 for name in ("world_size", "num_replicas"))


def check_rank(rank: int, world_size: int) -> None:
    """Check that a rank is in range.

    Raises:
        ConfigurationError: it is not.
    """
    if not hasattr(rank, "__index__") or world_size < 1 or not 0 <= rank < world_size:
        raise ConfigurationError(
            f"rank {rank!r} of {world_size}: expected a world size >= 1, and a rank below it or 'auto'"
        )
