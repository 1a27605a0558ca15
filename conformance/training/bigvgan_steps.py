"""BigVGAN: its dataset, generator, discriminators and losses."""

from __future__ import annotations

from typing import Any

import soundfile
from runs import Run, Trainer, package
from vocoder_steps import adversarial, compare_datasets, first_of, sizes_of

from tts_prep.recipes import BigVGANDataset

PRESET = "bigvgan-24k-100"
SETTINGS = {
    "num_mels": 100, "upsample_rates": [4, 4, 4, 4], "upsample_kernel_sizes": [8, 8, 8, 8],
    "upsample_initial_channel": 32, "resblock": "2", "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3]],
    "activation": "snakebeta", "snake_logscale": True, "use_tanh_at_final": False, "use_bias_at_final": False,
    "mpd_reshapes": [2], "use_spectral_norm": False, "discriminator_channel_mult": 0.25,
    "resolutions": [[1024, 120, 600], [2048, 240, 1200], [512, 50, 240]],
}  # fmt: skip


def compare(run: Run) -> Any:
    folder = run.sources / "BigVGAN"
    # In its package, they are modules of one; in a checkout, files side by side.
    prefix = "" if folder.is_dir() else "bigvgan."
    module, models, discriminators, parts, env = (
        package(folder, prefix + name) for name in ("meldataset", "bigvgan", "discriminators", "loss", "env")
    )
    settings = env.AttrDict(SETTINGS)
    sizes = sizes_of(PRESET)
    run.store(PRESET)
    rate = soundfile.info(run.wav(run.ids[0])).samplerate

    def make() -> Trainer:
        generator = models.BigVGAN(settings)
        others = [discriminators.MultiPeriodDiscriminator(settings)]
        others.append(first_of(discriminators.MultiResolutionDiscriminator(settings)))
        return adversarial(generator, others, parts, mel_of)

    def mel_of(made: Any) -> Any:
        return module.mel_spectrogram(made, *sizes[1:3], sizes[5], *sizes[3:5], 0, None)

    return compare_datasets(
        run, PRESET, module, run.corpus / "wavs",
        (
            lambda files, split: module.MelDataset(files, settings, *sizes, split, False, fmax_loss=None),
            lambda files, split: BigVGANDataset(files, settings, *sizes, split, False, fmax_loss=None),
        ),
        make,
        # It cuts a segment out of the file before it resamples it.
        lambda start: round(start * rate / sizes[5]),
    )  # fmt: skip
