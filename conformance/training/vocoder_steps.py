"""What HiFi-GAN and BigVGAN share: segments and whole recordings, and a step of generator and discriminators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from recipes import Drawn
from runs import BATCH, STEPS, Run, Trainer, losses

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.recipes import collate_hifigan

SEGMENT_FRAMES = 32


def sizes_of(preset: str) -> tuple[Any, ...]:
    """Return the arguments of ``MelDataset`` from ``segment_size`` to ``fmax``."""
    mel = get_preset(preset).config
    segment = SEGMENT_FRAMES * mel.hop_length
    return segment, mel.n_fft, mel.n_mels, mel.hop_length, mel.win_length, mel.sample_rate, 0, mel.fmax


def compare_datasets(
    run: Run,
    preset: str,
    module: Any,
    wavs: Path,
    datasets: Sequence[Callable[[list[str], bool], Any]],
    make: Callable[[], Trainer],
    place: Callable[[int], int] = lambda start: start,
) -> dict[str, Any]:
    """Train on segments and on whole recordings.

    Args:
        module: that of the source's dataset, which draws from ``random``.
        wavs: the folder that the source reads.
        datasets: make the source's dataset and the recipe's from files and ``split``.
        place: gives the first sample of a segment in the source's file, from that in the store.
    """
    mel = get_preset(preset).config
    store = run.scratch / preset
    names = UtteranceDataset(store).id
    lists = [str(wavs / f"{name}.wav") for name in names], [str(store / f"{name}.wav") for name in names]
    theirs, ours = (make_one(files, True) for make_one, files in zip(datasets, lists, strict=True))
    triples = []
    for i in range(STEPS * BATCH):
        start = ours._start(ours.utterances[i], ours.utterances[i].mel, None, i) * mel.hop_length
        module.random = Drawn(place(start))
        source, recipe = theirs[i], ours[i]
        triples.append((source, with_ends_of(source, recipe), recipe))
    collates = (torch.utils.data.default_collate, torch.utils.data.default_collate, collate_hifigan)
    of_source, with_ends, of_recipe = (
        losses(make, [collate([triples[i][side] for i in rows]) for rows in run.batches])
        for side, collate in enumerate(collates)
    )
    wholes = []
    for make_one, files in zip(datasets, lists, strict=True):
        side = make_one(files, False)
        wholes.append(losses(make, [torch.utils.data.default_collate([side[i]]) for i in range(STEPS)]))
    return {
        "segments": [of_source, of_recipe],
        "segments with the recipe's ends": [with_ends, of_recipe],
        "whole recordings": wholes,
    }


def with_ends_of(source: Any, recipe: Any) -> tuple[Any, ...]:
    """Return a segment of the source with the first and last two frames of the recipe's mels.

    The source's have reflections there, and the recipe's what the recording has before and after.
    """
    mels = []
    for place in (0, 3):
        mel = source[place].clone()
        for end in (slice(0, 2), slice(-2, None)):
            mel[..., end] = torch.as_tensor(recipe[place][..., end])
        mels.append(mel)
    return mels[0], source[1], source[2], mels[1]


def first_of(discriminator: Any) -> Any:
    """Keep the first of the discriminators that are trained side by side, for the sake of time."""
    discriminator.discriminators = discriminator.discriminators[:1]
    return discriminator


def adversarial(
    generator: Any, discriminators: Sequence[Any], parts: Any, mel_of: Callable[[torch.Tensor], torch.Tensor]
) -> Trainer:
    """Return a step as in the ``train.py`` of HiFi-GAN, with the losses of the source's own module `parts`."""
    options = {"lr": 2e-4, "betas": (0.8, 0.99)}
    of_generator = torch.optim.AdamW(generator.train().parameters(), **options)
    of_others = torch.optim.AdamW(itertools.chain(*(d.train().parameters() for d in discriminators)), **options)

    def step(batch: Any) -> dict[str, torch.Tensor]:
        x, y, _, y_mel = batch
        y = y.reshape(len(x), 1, -1)
        made = generator(x)
        y = y[..., : made.shape[-1]]
        made = made[..., : y.shape[-1]]
        frames = min(y_mel.shape[-1], (made_mel := mel_of(made.squeeze(1))).shape[-1])
        of_others.zero_grad()
        discriminator = sum(parts.discriminator_loss(*d(y, made.detach())[:2])[0] for d in discriminators)
        discriminator.backward()
        of_others.step()
        of_generator.zero_grad()
        mel = 45 * torch.nn.functional.l1_loss(y_mel[..., :frames], made_mel[..., :frames])
        adversary = 0
        for d in discriminators:
            _, judged, real, fake = d(y, made)
            adversary = adversary + parts.feature_loss(real, fake) + parts.generator_loss(judged)[0]
        (mel + adversary).backward()
        of_generator.step()
        return {"discriminator": discriminator, "mel": mel, "adversary": adversary}

    return step
