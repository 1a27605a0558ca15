"""Random numbers for the rows of a dataset that is wrapped: other ones every epoch, the same in any process."""

import sys
from collections import Counter
from typing import Any

from tts_prep.loader.randomness import Words, random_words

_FIRST_STREAM = 1 << 32
"""Samplers use the random streams below."""


class EpochDraws:
    """Random numbers for the rows of a dataset that change every epoch.

    If positions carry their epoch, as those of our batch samplers do, the numbers are a function of seed, epoch and row
    in any process. Other positions have the epoch of the last `set_epoch`. Where nothing sets it, every further use of
    a row is its next epoch, the first one 0. In a worker of torch's ``DataLoader``, which cannot know the epoch, the
    numbers depend on the worker's seed too, which torch draws for every set of workers.

    Args:
        seed: a non-negative integer.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._epoch: int | None = None
        self._seen: Counter[int] = Counter()

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of positions that carry none."""
        self._epoch = epoch

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
        if worker is None and self._epoch is not None:
            return self._epoch
        self._seen[row] += 1
        # In a worker, larger than any real epoch.
        return self._seen[row] - 1 if worker is None else (int(worker.seed) << 64) + self._seen[row]


def _torch_worker() -> Any:
    """Return torch's information about this worker process; None in the main process. Does not import torch."""
    torch: Any = sys.modules.get("torch")
    return None if torch is None else torch.utils.data.get_worker_info()
