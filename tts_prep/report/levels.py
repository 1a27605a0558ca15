"""How loud every utterance is, and whether it was clipped: the one part of a report that reads whole arrays."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.checks.waveforms import clipped_samples
from tts_prep.format.datasets import Array
from tts_prep.loader import UtteranceDataset

MOST_BYTES = 6_000_000_000
"""Of arrays that are read, at most; of a larger store, utterances at even distances are looked at."""

_THREADS = 4


@dataclass(frozen=True, eq=False)
class Levels:
    """What was measured on the utterances that were looked at.

    Attributes:
        positions: [n] int64, which utterances of the dataset.
        level: [n] float64: RMS in dB of full scale where there are waveforms, else the mean of the mel values.
        clipped: [n] int64, samples in flat peaks; None where the store has no waveforms.
    """

    positions: npt.NDArray[np.int64]
    level: npt.NDArray[np.float64]
    clipped: npt.NDArray[np.int64] | None

    @property
    def unit(self) -> str:
        """What `level` is."""
        return "mean mel value" if self.clipped is None else "dBFS"


def measure_levels(dataset: UtteranceDataset, most_bytes: int = MOST_BYTES) -> Levels:
    """Read waveforms, or mels where there are none, and measure each utterance.

    Raises:
        CorruptStoreError: a shard is not what the manifest or the index says.
    """
    name = "waveform" if dataset.has_waveform else "mel"
    lengths = np.asarray(dataset.n_samples if dataset.has_waveform else dataset.n_frames)
    row = 2 if dataset.has_waveform else dataset.n_mels * 4
    step = max(1, math.ceil(int(lengths.sum(dtype=np.int64)) * row / most_bytes))
    looked_at = dataset[::step]
    positions = np.arange(0, len(dataset), step)
    if dataset.has_waveform:
        # Reading maps and adding up let other threads run: two are twice as fast, from memory and from a disk.
        with ThreadPoolExecutor(_THREADS) as pool:
            pairs = list(pool.map(_waveform_level, looked_at.views(name), chunksize=64))
        return Levels(
            positions, np.array([level for level, _ in pairs], float), np.array([count for _, count in pairs], np.int64)
        )
    levels = [float(view.mean(dtype=np.float32)) if len(view) else math.nan for view in looked_at.views(name)]
    return Levels(positions, np.array(levels, float), None)


def _waveform_level(samples: Array) -> tuple[float, int]:
    if not len(samples):
        return math.nan, 0
    values = samples.astype(np.float32)
    if samples.dtype == np.int16:
        values *= np.float32(1 / 32768)
    power = float(np.dot(values, values)) / len(values)
    return 10 * math.log10(power) if power > 0 else -math.inf, clipped_samples(values)
