"""BigVGAN's dataset, reading a store instead of wav files.

In its ``train.py``, import `BigVGANDataset` as ``MelDataset`` and `bigvgan_filelists` as ``get_dataset_filelist``, and
pass the stores as ``--input_wavs_dir`` and ``--list_input_unseen_wavs_dir``.
"""

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tts_prep.recipes.accepted import BIGVGAN, Settings
from tts_prep.recipes.hifigan import Float32Array, HiFiGANDataset, hifigan_filelists
from tts_prep.recipes.stores import Missing, read_list

_PEAK = 0.95
_FLOOR = math.log(1e-5)
"""BigVGAN's smallest log-mel value."""


def bigvgan_filelists(a: Any) -> tuple[list[str], list[str], list[list[str]]]:
    """Return the training files, the validation files and the lists of unseen validation files of BigVGAN's options.

    Raises:
        ConfigurationError: a file list cannot be read.
    """
    training, validation = hifigan_filelists(a)
    unseen = [
        [os.path.join(folder, f"{line[0]}.wav") for line in read_list(path)]  # noqa: PTH118
        for folder, path in zip(a.list_input_unseen_wavs_dir, a.list_input_unseen_validation_file, strict=True)
    ]
    return training, validation, unseen


class BigVGANDataset(HiFiGANDataset):
    """Segments of waveforms with their mels, as BigVGAN's ``MelDataset``; see `HiFiGANDataset`.

    Each segment is scaled to a peak of 0.95. The logarithm of the gain is added to its mel; values at the minimum stay
    unchanged.

    Args:
        training_files: paths ``STORE/ID.wav``.
        hparams: ignored.
        segment_size: see `HiFiGANDataset`, as for the other arguments.
        n_fft: samples.
        num_mels: mel bins.
        hop_size: samples per frame.
        win_size: samples.
        sampling_rate: Hz.
        fmin: Hz.
        fmax: Hz.
        split: cut segments; False truncates a recording to a multiple of the hop size. With `fine_tuning`, BigVGAN
            fails instead.
        shuffle: put the files into random order.
        device: ignored.
        fmax_loss: Hz.
        fine_tuning: read mels from `base_mels_path`, and do not scale; see `HiFiGANDataset`.
        base_mels_path: the folder of ``ID.npy`` files.
        is_seen: how `name` is derived from the first path, as in BigVGAN.
        loss_store: see `HiFiGANDataset`.
        seed: the seed of the segments.
        settings: ``"preset"`` requires a store with all settings of a preset ``bigvgan-…`` of these sizes, and with
            `fine_tuning` without a peak; ``"any"`` accepts every store.
        missing: see `HiFiGANDataset`.
    """

    _recipe = BIGVGAN

    def __init__(
        self,
        training_files: Iterable[str],
        hparams: Any,  # noqa: ARG002
        segment_size: int,
        n_fft: int,
        num_mels: int,
        hop_size: int,
        win_size: int,
        sampling_rate: int,
        fmin: float,
        fmax: float | None,
        split: bool = True,
        shuffle: bool = True,
        device: Any = None,
        fmax_loss: float | None = None,
        fine_tuning: bool = False,
        base_mels_path: str | None = None,
        is_seen: bool = True,
        *,
        loss_store: str | Path | Sequence[str | Path] | None = None,
        seed: int = 0,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        sizes = segment_size, n_fft, num_mels, hop_size, win_size, sampling_rate, fmin, fmax
        of_tuning = fmax_loss, fine_tuning, base_mels_path
        named: dict[str, Any] = {"loss_store": loss_store, "seed": seed, "settings": settings, "missing": missing}
        super().__init__(training_files, *sizes, split, shuffle, 1, device, *of_tuning, **named)
        parts = PurePath(self.audio_files[0]).parts
        self.name = parts[0] if is_seen else "-".join(parts[:2]).strip("/")

    def _scaled(
        self, audio: Float32Array, mel: Float32Array, mel_loss: Float32Array
    ) -> tuple[Float32Array, Float32Array, Float32Array]:
        if not self.split:
            n_frames = min(len(audio) // self.hop_size, len(mel))
            audio, mel, mel_loss = audio[: n_frames * self.hop_size], mel[:n_frames], mel_loss[:n_frames]
        if self.fine_tuning:
            return audio, mel, mel_loss
        peak = float(np.abs(audio).max(initial=0.0))
        gain = np.float32(_PEAK / peak if peak > np.finfo(np.float32).tiny else _PEAK)
        return audio * gain, _amplified(mel, gain), _amplified(mel_loss, gain)


def _amplified(mel: Float32Array, gain: np.float32) -> Float32Array:
    louder: Float32Array = mel + np.log(gain)
    np.maximum(louder, np.float32(_FLOOR), out=louder)
    louder[mel <= np.float32(_FLOOR) + 1e-4] = _FLOOR
    return louder
