"""Limits on the size of a batch, and utterances that exceed them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError


@dataclass(frozen=True)
class Budget:
    """A limit on the padded size of a batch in one field: count × longest ** power <= limit.

    With lengths of parts, [n, k], the longest is the sum of the longest of each part: they are padded one by one.

    Example:
        >>> from tts_prep.loader import Budget, LengthBucketBatchSampler
        >>> lengths = {"n_frames": [400, 500, 600], "n_phonemes": [60, 70, 90]}
        >>> sampler = LengthBucketBatchSampler(lengths, batch_size=8, budgets=[Budget("n_phonemes", 150)])
        >>> sorted(map(len, sampler))
        [1, 2]

    Attributes:
        field: the name of the lengths in the sampler.
        limit: the largest padded size.
        power: 1 limits padded elements; 2 limits the cost of self-attention.
    """

    field: str
    limit: int
    power: Literal[1, 2] = 1

    def max_utterances(self, longest: int) -> int:
        """Return the maximum size of a batch for the length of its longest utterance; 0 if that exceeds the limit."""
        cost: int = max(1, longest) ** self.power
        return self.limit // cost


@dataclass(frozen=True)
class Limits:
    """All limits on a batch.

    Attributes:
        count: the maximum number of utterances.
        budgets: limits on padded sizes; every batch respects all of them.
        multiple_of: sizes of at least this are multiples of it.
    """

    count: int
    budgets: tuple[Budget, ...]
    multiple_of: int

    def max_utterances(self, longest: Mapping[str, int]) -> int:
        """Return the maximum number of utterances of a batch for the longest of each field, at least 1."""
        allowed = [budget.max_utterances(longest[budget.field]) for budget in self.budgets if budget.field in longest]
        return self.rounded(max(1, min([self.count, *allowed])))

    def rounded(self, size: int) -> int:
        """Return the size rounded down to a multiple of `multiple_of`, if it is at least that."""
        return size - size % self.multiple_of if size >= self.multiple_of else size


def whole_lengths(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the length of each utterance, [n]: the sum of its parts, where lengths are [n, k]."""
    return lengths if lengths.ndim == 1 else lengths.sum(axis=1, dtype=np.int64)


def padded_lengths(lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the padded length of a batch of the first utterance, of the first two, and so on, [n].

    Args:
        lengths: [n], or [n, k] of parts, each of which is padded to its longest.
    """
    longest = np.maximum.accumulate(lengths, axis=0)
    return np.maximum(whole_lengths(longest).astype(np.int64), 1)


def check_budgets(
    budgets: Sequence[Budget], max_frames: int | None, main: str, fields: Mapping[str, npt.NDArray[Any]]
) -> tuple[Budget, ...]:
    """Return the budget of `max_frames` and all other budgets.

    Raises:
        ConfigurationError: a budget has an unknown field, a limit that is no integer, or a power other than 1 and 2.
    """
    checked = (*(() if max_frames is None else (Budget(main, max_frames),)), *budgets)
    for budget in checked:
        if budget.field not in fields:
            raise ConfigurationError(f"budgets: no lengths for '{budget.field}'; given are {', '.join(fields)}")
        if not isinstance(budget.limit, int | np.integer):
            name = "max_frames" if budget.field == main else budget.field
            raise ConfigurationError(f"budgets: expected an integer for {name}, found {budget.limit!r}")
        if budget.power not in (1, 2):
            raise ConfigurationError(f"budgets: expected the power 1 or 2, found {budget.power}")
    return checked


def find_over_budget(
    fields: Mapping[str, npt.NDArray[Any]], budgets: Sequence[Budget], max_frames: int | None, main: str, *, drop: bool
) -> npt.NDArray[np.int64]:
    """Return the positions of utterances that exceed a budget by themselves.

    Raises:
        SamplingError: there are such utterances, and `drop` is False.
    """
    over: npt.NDArray[np.int64] = np.empty(0, np.int64)
    for budget in budgets:
        lengths = whole_lengths(fields[budget.field])
        max_length = budget.limit if budget.power == 1 else math.isqrt(budget.limit)
        if int(lengths.max()) <= max(max_length, 0):
            continue
        longer = np.flatnonzero(lengths > max_length)
        if not drop:
            i = int(longer[np.argmax(lengths[longer])])
            name = "frames" if budget.field == "n_frames" else budget.field
            limit = "max_frames" if budget.limit == max_frames and budget.field == main else "its budget"
            what = f"{limit} = {budget.limit:,}" if budget.power == 1 else f"the {max_length:,} that {limit} allows"
            raise SamplingError(
                f"utterance {i} alone has {lengths[i]:,} {name}, more than {what}"
                f"{f', and {len(longer) - 1:,} more are over it' if len(longer) > 1 else ''}; filter them out or "
                "allow more"
            )
        over = np.union1d(over, longer)
    return over
