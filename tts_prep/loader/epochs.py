"""Random draws that change with the epoch, also in torch's worker processes."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tts_prep.loader.randomness import Words, random_words

_FIRST_STREAM = 1 << 32
"""Samplers use the random streams below."""


class EpochDraws:
    """Random numbers for the rows of a dataset that change every epoch.

    If positions carry their epoch, as those of our batch samplers do, the numbers are a function of seed, epoch and row
    in any process. A worker of torch's ``DataLoader`` cannot know the epoch of other positions. There the numbers
    depend on the worker's seed, which torch draws for every set of workers, and on how often the worker has seen the
    row, so that they change with persistent workers too. In the main process the epoch is that of the last `set_epoch`,
    at first 0.

    Args:
        seed: a non-negative integer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.epoch = 0
        self._seen: Counter[int] = Counter()

    def words(self, n: int, row: int, carried: int | None) -> Words:
        """Return [n] random 64-bit words.

        Args:
            n: the number of words.
            row: the row of the dataset.
            carried: the epoch carried by the row's position, or None.
        """
        return random_words(n, self.seed, self._epoch_of(row, carried), _FIRST_STREAM + row)

    def _epoch_of(self, row: int, carried: int | None) -> int:
        if carried is not None:
            return carried
        worker = _torch_worker()
        if worker is None:
            return self.epoch
        self._seen[row] += 1
        # Larger than any real epoch.
        return (int(worker.seed) << 64) + self._seen[row]


def _torch_worker() -> Any:
    """Return torch's information about this worker process; None in the main process. Does not import torch."""
    torch: Any = sys.modules.get("torch")
    return None if torch is None else torch.utils.data.get_worker_info()
