"""VITS: its loader, collate function, models and losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from recipes import by_name, older_torch
from runs import Run, Trainer, losses, package, texts_of
from vocoder_steps import first_of

from tts_prep import recipes

SEGMENT, HOP = 8192, 256
MEL = (1024, 80, 22_050)
DATA = {
    "text_cleaners": [], "max_wav_value": 32768.0, "sampling_rate": 22_050, "filter_length": 1024, "hop_length": HOP,
    "win_length": 1024, "cleaned_text": True, "add_blank": True,
}  # fmt: skip


def compare(run: Run) -> Any:
    folder = run.sources / "vits"
    data, models, parts, commons, processing = (
        package(folder, name) for name in ("data_utils", "models", "losses", "commons", "mel_processing")
    )
    processing.torch, processing.librosa_mel_fn = older_torch(), by_name(processing.librosa_mel_fn)
    store = run.store("vits")
    texts, code = texts_of(store)
    # The symbols of the store instead of its own: what is compared are batches of the same symbols.
    data.cleaned_text_to_sequence = lambda text: [code[symbol] for symbol in text]
    lists = run.write_list("theirs", run.resampled(22_050), texts), run.write_list("ours", store, texts)
    settings = SimpleNamespace(**DATA)
    theirs, ours = (
        side.TextAudioLoader(str(path), settings) for side, path in zip((data, recipes), lists, strict=True)
    )

    def make() -> Trainer:
        generator = models.SynthesizerTrn(
            1 + max(code.values()), 513, SEGMENT // HOP, 32, 32, 64, 2, 2, 3, 0.1, "2", [3], [[1, 3]],
            [8, 8, 2, 2], 32, [16, 16, 4, 4], use_sdp=False,
        )  # fmt: skip
        discriminator = first_of(models.MultiPeriodDiscriminator())
        optimizers = [
            torch.optim.AdamW(model.train().parameters(), 2e-4, betas=(0.8, 0.99), eps=1e-9)
            for model in (discriminator, generator)
        ]

        def step(batch: Any) -> dict[str, torch.Tensor]:
            x, x_lengths, spec, spec_lengths, y, _ = batch
            made, length, _, ids, _, z_mask, (_, z_p, m_p, logs_p, _, logs_q) = generator(
                x, x_lengths, spec, spec_lengths
            )
            mel = processing.spec_to_mel_torch(spec, *MEL, 0.0, None)
            mel = commons.slice_segments(mel, ids, SEGMENT // HOP)
            made_mel = processing.mel_spectrogram_torch(made.squeeze(1), *MEL, HOP, 1024, 0.0, None)
            y = commons.slice_segments(y, ids * HOP, SEGMENT)
            real, fake, _, _ = discriminator(y, made.detach())
            judged = parts.discriminator_loss(real, fake)[0]
            optimizers[0].zero_grad()
            judged.backward()
            optimizers[0].step()
            _, fake, real_maps, fake_maps = discriminator(y, made)
            found = {
                "duration": torch.sum(length.float()),
                "mel": torch.nn.functional.l1_loss(mel, made_mel) * 45,
                "kl": parts.kl_loss(z_p, logs_q, m_p, logs_p, z_mask),
                "features": parts.feature_loss(real_maps, fake_maps),
                "generator": parts.generator_loss(fake)[0],
            }
            optimizers[1].zero_grad()
            sum(found.values()).backward()
            optimizers[1].step()
            return {"discriminator": judged, **found}

        return step

    sides = [
        losses(make, [side.TextAudioCollate()([loader[i] for i in rows]) for rows in run.batches])
        for side, loader in ((data, theirs), (recipes, ours))
    ]
    return {"utterances": sides}
