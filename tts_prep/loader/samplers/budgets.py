"""How large a batch may be, and which utterances no batch can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.format.datasets import Array


@dataclass(frozen=True)
class Budget:
    """How large a batch may be: count × longest ** power, of one field, is at most the limit.

    Attributes:
        field: the name that the sampler has the lengths under.
        limit: the largest padded size.
        power: 1 counts padded elements; 2 is what attention costs.
    """

    field: str
    limit: int
    power: Literal[1, 2] = 1

    def most(self, longest: int) -> int:
        """Return how many utterances a batch may have whose longest is so long; 0 where none fits."""
        cost: int = max(1, longest) ** self.power
        return self.limit // cost


@dataclass(frozen=True)
class Limits:
    """Everything that bounds a batch.

    Attributes:
        count: utterances, where no budget allows fewer.
        budgets: all of them hold.
        multiple_of: sizes are multiples of this, where they are large enough.
    """

    count: int
    budgets: tuple[Budget, ...]
    multiple_of: int

    def most(self, longest: Mapping[str, int]) -> int:
        """Return how many utterances a batch may have whose longest are so long, at least one."""
        allowed = [budget.most(longest[budget.field]) for budget in self.budgets if budget.field in longest]
        return self.rounded(max(1, min([self.count, *allowed])))

    def rounded(self, size: int) -> int:
        """Return the largest size up to this one that batches have."""
        return size - size % self.multiple_of if size >= self.multiple_of else size


def check_budgets(
    budgets: Sequence[Budget], max_frames: int | None, main: str, fields: Mapping[str, Array]
) -> tuple[Budget, ...]:
    """Return all budgets.

    Raises:
        ConfigurationError: one is of a field that there is not, or of another power than 1 and 2.
    """
    found = (*(() if max_frames is None else (Budget(main, max_frames),)), *budgets)
    for budget in found:
        if budget.field not in fields:
            raise ConfigurationError(
                f"budgets: no lengths are given for '{budget.field}'; there are {', '.join(fields)}"
            )
        if budget.power not in (1, 2):
            raise ConfigurationError(f"budgets: expected the power 1 or 2, found {budget.power}")
    return found


def find_over_budget(
    fields: Mapping[str, Array], budgets: Sequence[Budget], max_frames: int | None, main: str, *, drop: bool
) -> npt.NDArray[np.int64]:
    """Return the positions of utterances that no batch can hold, and that are to be left out.

    Raises:
        SamplingError: there are some, and they are not to be left out.
    """
    over = np.empty(0, np.int64)
    for budget in budgets:
        lengths = fields[budget.field]
        most = budget.limit if budget.power == 1 else math.isqrt(budget.limit)
        if int(lengths.max()) <= max(most, 0):
            continue
        found = np.flatnonzero(lengths > most)
        if not drop:
            i = int(found[np.argmax(lengths[found])])
            name = "frames" if budget.field == "n_frames" else budget.field
            limit = "max_frames" if budget.limit == max_frames and budget.field == main else "its budget"
            what = f"{limit} = {budget.limit:,}" if budget.power == 1 else f"the {most:,} that {limit} allows"
            raise SamplingError(
                f"utterance {i} alone has {lengths[i]:,} {name}, more than {what}"
                f"{f', and {len(found) - 1:,} more are over it' if len(found) > 1 else ''}; filter them out or "
                "allow more"
            )
        over = np.union1d(over, found)
    return over
