"""HiFi-GAN: its dataset, generator, discriminators and losses."""

from __future__ import annotations

import importlib
from typing import Any

from recipes import by_name, older_torch
from runs import Run, Trainer, package
from vocoder_steps import adversarial, compare_datasets, first_of, sizes_of

from tts_prep.recipes import HiFiGANDataset

SETTINGS = {
    "num_mels": 80, "upsample_rates": [8, 8, 4], "upsample_kernel_sizes": [16, 16, 8], "upsample_initial_channel": 32,
    "resblock": "2", "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3]],
}  # fmt: skip


def compare(run: Run) -> Any:
    folder = run.sources / "hifi-gan"
    module, models = package(folder, "meldataset"), package(folder, "models")
    module.librosa_mel_fn, module.torch = by_name(module.librosa_mel_fn), older_torch()
    sizes = sizes_of("hifigan")
    run.store("hifigan")
    run.store("hifigan", "hifigan-loss", fmax=sizes[5] / 2)

    def make() -> Trainer:
        generator = models.Generator(importlib.import_module("env").AttrDict(SETTINGS))
        discriminators = [models.MultiPeriodDiscriminator(), models.MultiScaleDiscriminator()]
        return adversarial(generator, [first_of(one) for one in discriminators], models, mel_of)

    def mel_of(made: Any) -> Any:
        # The bank of a rate is kept by fmax alone; fmax_for_loss is None.
        return module.mel_spectrogram(made, *sizes[1:3], sizes[5], *sizes[3:5], 0, None)

    return compare_datasets(
        run, "hifigan", module, run.resampled(22_050),
        (
            lambda files, split: module.MelDataset(files, *sizes, split, False, 0, fmax_loss=None),
            lambda files, split: HiFiGANDataset(files, *sizes, split, False, fmax_loss=None),
        ),
        make,
    )  # fmt: skip
