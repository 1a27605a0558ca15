"""The rank of a process and the number of ranks."""

import operator
import os
import sys
from typing import Any, Literal, NamedTuple, TypeAlias

from tts_prep.errors import ConfigurationError

Rank: TypeAlias = int | Literal["auto", "all"]


class Share(NamedTuple):
    """The share of an epoch that a sampler gives.

    Attributes:
        rank: the first of the elements of each step, 0 to world_size - 1.
        world_size: every how many elements one is given; 1 gives all.
        n_ranks: the number of ranks that make the epoch; with ``"all"``, more than `world_size`.
    """

    rank: int
    world_size: int
    n_ranks: int


def resolve_rank(rank: Rank, world_size: int) -> Share:
    """Return the share of a rank.

    Args:
        rank: 0 to world_size - 1, or ``"auto"``: that of ``torch.distributed``, or 0 without a process group. Or
            ``"all"``: the elements of all ranks.
        world_size: the number of ranks; must be 1 if the rank is ``"auto"``. With ``"all"``, 1 stands for the number of
            ``torch.distributed``.

    Raises:
        ConfigurationError: the rank is out of range; a world size is given with ``"auto"``; or the process was started
            as one of several and its process group is not initialized yet.
    """
    if not isinstance(rank, str):
        check_rank(rank, world_size)
        return Share(operator.index(rank), operator.index(world_size), operator.index(world_size))
    if rank not in ("auto", "all"):
        check_rank(rank, world_size)
    if rank == "auto" and world_size != 1:
        raise ConfigurationError(f"rank='auto' takes the world size from torch.distributed, found {world_size=}")
    if rank == "all" and world_size != 1:
        check_rank(0, world_size)
        return Share(0, 1, operator.index(world_size))
    group = process_group()
    if group is None:
        started = os.environ.get("WORLD_SIZE", "1")
        if started not in ("", "1"):
            raise ConfigurationError(
                f"rank={rank!r}: this process is one of {started}, but torch.distributed has no process group yet; "
                "create the sampler after init_process_group"
            )
        group = (0, 1)
    return Share(0, 1, group[1]) if rank == "all" else Share(*group, group[1])


def process_group() -> tuple[int, int] | None:
    """Return rank and world size of torch's process group; None if there is none. Does not import torch."""
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def of_all_ranks(value: Any) -> list[Any]:
    """Return the values of all ranks of the process group, or the only one; every rank has to call it."""
    values = [value] * (process_group() or (0, 1))[1]
    if process_group() is not None:
        sys.modules["torch"].distributed.all_gather_object(values, value)
    return values


def is_sharded(sampler: Any) -> bool:
    """Return whether a sampler, also one of torch, gives every rank its own share of an epoch."""
    return any(getattr(sampler, name, 1) > 1 for name in ("world_size", "num_replicas"))


def check_rank(rank: Any, world_size: int) -> None:
    """Check that a rank is in range.

    Raises:
        ConfigurationError: it is not.
    """
    if not hasattr(rank, "__index__") or world_size < 1 or not 0 <= rank < world_size:
        raise ConfigurationError(
            f"rank {rank!r} of {world_size}: expected a world size >= 1, and a rank below it, 'auto' or 'all'"
        )
