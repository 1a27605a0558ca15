"""Which epoch something random belongs to, in this process and in torch's workers."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tts_prep.loader.randomness import Words, random_words

_FIRST_STREAM = 1 << 32
"""Samplers use the streams below it."""


class EpochDraws:
    """Random numbers for rows of a dataset, other ones in every epoch.

    Of positions that carry their epoch, as those of our batch samplers do, they are a function of seed, epoch and row
    alone, in any process. A worker of torch's ``DataLoader`` whose positions carry none cannot know the epoch: there
    they depend on the worker's seed, which torch draws anew for every set of workers, and on how often the worker has
    seen the row, so that they change with persistent workers too. Elsewhere the epoch is what `set_epoch` said last.

    Args:
        seed: from 0 on.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.epoch = 0
        self._seen: Counter[int] = Counter()

    def words(self, n: int, row: int, carried: int | None) -> Words:
        """Return [n] random 64-bit words.

        Args:
            n: how many.
            row: of the dataset.
            carried: the epoch that came with the row's position; None where none did.
        """
        return random_words(n, self.seed, self._epoch_of(row, carried), _FIRST_STREAM + row)

    def _epoch_of(self, row: int, carried: int | None) -> int:
        if carried is not None:
            return carried
        worker = _torch_worker()
        if worker is None:
            return self.epoch
        self._seen[row] += 1
        # Above every epoch that can be meant.
        return (int(worker.seed) << 64) + self._seen[row]


def _torch_worker() -> Any:
    """Return what torch says of the worker that this process is; None where it is none. Does not import torch."""
    torch: Any = sys.modules.get("torch")
    return None if torch is None else torch.utils.data.get_worker_info()
