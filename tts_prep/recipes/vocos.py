"""Vocos' dataset, reading a store instead of wav files: waveforms of random level, cut at random samples.

In its ``dataset.py`` or your own training script, import `VocosDataset` from `tts_prep.recipes` instead of
``vocos.dataset``. The lines of the file list are ``STORE/ID.wav``.
"""

import math
from typing import Any

import numpy as np

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError
from tts_prep.loader import Utterance
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.randomness import check_seed
from tts_prep.recipes.accepted import VOCOS, Settings
from tts_prep.recipes.stores import ListedExamples, ListedUtterances, Missing, RandomExamples, read_list

_LOUDEST, _RANGE = -1.0, 5.0
"""Decibels: the peaks of training waveforms are −6 to −1."""

_VALIDATION_GAIN = -3.0


class VocosDataset(ListedExamples, RandomExamples):
    """Waveforms as in Vocos' ``VocosDataset``: float32 tensors [num_samples], which torch stacks to a batch.

    In training, the peak of the recording is random from −6 to −1 dB, in steps of 0.01, and so is the start of the
    segment. In validation, the peak is −3 dB and the segment starts at 0. A recording that is too short is repeated.

    Args:
        cfg: settings with `filelist_path` (one ``STORE/ID.wav`` per line), `sampling_rate` and `num_samples`.
        train: draw level and start at random.
        seed: a non-negative integer.
        settings: ``"preset"`` requires a store with the waveforms of the preset ``vocos``; ``"any"`` accepts every
            store.
        peak: the column with the peak of each recording before it was resampled, which is what Vocos scales; None
            scales the peak of the waveform in the store.
        missing: ``"leave_out"`` leaves out lines whose utterances are not in the store, and `utterances` names them.

    Raises:
        ConfigurationError: the store has another sample rate, no waveforms or no such column, or the list cannot be
            read.
    """

    _has_ids = False

    def __init__(
        self,
        cfg: Any,
        train: bool,
        *,
        seed: int = 0,
        settings: Settings = "preset",
        peak: str | None = None,
        missing: Missing = "error",
    ) -> None:
        self.utterances = ListedUtterances((line[0] for line in read_list(cfg.filelist_path)), missing)
        self.filelist = self.utterances.paths
        self.utterances.check(VOCOS, {"sample_rate": cfg.sampling_rate, "fmax": cfg.sampling_rate / 2}, settings)
        self.sampling_rate = cfg.sampling_rate
        self.num_samples = cfg.num_samples
        self.train = train
        self.peak = peak
        for dataset in self.utterances.stores:
            if peak is not None and peak not in dataset.columns:
                raise ConfigurationError(f"peak: {dataset.path} has no column {peak!r}")
        self._draws = EpochDraws(check_seed(seed))
        if self.num_samples < 1:
            raise ConfigurationError(f"num_samples: expected an integer >= 1, found {self.num_samples}")

    def _fingerprint_settings(self) -> dict[str, Any]:
        names = ("num_samples", "sampling_rate", "train", "peak")
        return {name: getattr(self, name) for name in names} | {"seed": self._draws.seed}

    def _example(self, i: int, epoch: int | None) -> Any:
        utterance = self.utterances[i]
        audio = utterance.audio
        n, length = len(audio), self.num_samples
        if not n:
            raise ConfigurationError(f"{self.filelist[i]}: the waveform is empty")
        gain, start = self.draw(i, n, epoch) if self.train else (_VALIDATION_GAIN, 0)
        peak = float(np.abs(audio).max()) if self.peak is None else self._peak_of_recording(i, utterance)
        if n < length:
            audio = np.resize(audio, length)
        audio = audio[start : start + length]
        if peak > 0:
            audio = audio * np.float32(10 ** (gain / 20) / peak)
        return to_tensors(audio)

    def _peak_of_recording(self, i: int, utterance: Utterance) -> float:
        """Return the peak in the column, which is a number above 0."""
        found = utterance.meta[self.peak] if self.peak else ""
        try:
            peak = float(found)
        except ValueError:
            peak = math.nan
        if not 0 < peak < math.inf:
            raise ConfigurationError(f"{self.filelist[i]}: expected a peak above 0 in {self.peak!r}, found {found!r}")
        return peak

    def draw(self, i: int, n_samples: int, epoch: int | None = None) -> tuple[float, int]:
        """Return random peak level in dB and start for a waveform of `n_samples`."""
        level, place = self._draws.words(2, i, epoch).tolist()
        gain = round(_LOUDEST - _RANGE * (level >> 11) / 2**53, 2)
        return gain, place % (max(0, n_samples - self.num_samples) + 1)
