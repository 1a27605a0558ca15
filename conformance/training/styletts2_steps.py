"""StyleTTS2, first stage from ``TMA_epoch`` on: its dataset, collate function, models, losses and optimizer.

The pretrained aligner, pitch extractor and WavLM are not loaded: the first two have random weights, the last one is a
small one of the same class.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from runs import Run, Trainer, losses, package, texts_of

from tts_prep.recipes import styletts2 as recipe

MAX_LENGTH, HOP = 100, 300


def compare(run: Run) -> Any:
    folder = run.sources / "StyleTTS2"
    data, models, parts, utils, optimizers = (
        package(folder, name) for name in ("meldataset", "models", "losses", "utils", "optimizers")
    )
    istft, judges = package(folder, "Modules.istftnet"), package(folder, "Modules.discriminators")
    store = run.store("styletts2")
    texts, _ = texts_of(store)
    lines = [f"{uid}.wav|{text}|0" for uid, text in texts.items()]
    others = run.scratch / "others.txt"
    others.write_text("\n".join([max(texts.values(), key=len)] * 3) + "\n", encoding="utf-8")
    theirs = data.FilePathDataset(lines, str(run.corpus / "wavs"), OOD_data=str(others), min_length=10)
    ours = recipe.FilePathDataset(lines, str(store), OOD_data=str(others), min_length=10)
    wavlm = small_wavlm(run)

    def make() -> Trainer:
        nets = utils.Munch(
            text_aligner=models.ASRCNN(80, 256, 178, token_embedding_dim=512),
            pitch_extractor=models.JDCNet(num_class=1, seq_len=192),
            text_encoder=models.TextEncoder(channels=512, kernel_size=5, depth=1, n_symbols=178),
            style_encoder=models.StyleEncoder(dim_in=16, style_dim=16, max_conv_dim=32),
            decoder=istft.Decoder(
                dim_in=512, style_dim=16, dim_out=80, resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3, 5]],
                upsample_rates=[10, 6], upsample_initial_channel=512, upsample_kernel_sizes=[20, 12],
                gen_istft_n_fft=20, gen_istft_hop_size=5,
            ),
            mpd=judges.MultiPeriodDiscriminator(), msd=judges.MultiResSpecDiscriminator(),
        )  # fmt: skip
        for judge in (nets.mpd, nets.msd):
            judge.discriminators = judge.discriminators[:1]
        for net in nets.values():
            net.train()
        schedule = {"max_lr": 1e-4, "pct_start": 0.0, "epochs": 2, "steps_per_epoch": 10}
        optimizer = optimizers.build_optimizer(
            {key: net.parameters() for key, net in nets.items()},
            scheduler_params_dict={key: dict(schedule) for key in nets}, lr=1e-4,
        )  # fmt: skip
        criteria = {
            "stft": parts.MultiResolutionSTFTLoss(), "gl": parts.GeneratorLoss(nets.mpd, nets.msd),
            "dl": parts.DiscriminatorLoss(nets.mpd, nets.msd), "wl": parts.WavLMLoss(wavlm, None, 24_000, 16_000),
        }  # fmt: skip
        return lambda batch: step(nets, optimizer, criteria, utils, batch)

    sides = [
        losses(make, [collater()([dataset[i] for i in rows]) for rows in run.batches])
        for dataset, collater in ((theirs, data.Collater), (ours, recipe.Collater))
    ]
    return {"utterances": sides}


def small_wavlm(run: Run) -> str:
    """Write a WavLM of random weights, and return its folder."""
    from transformers import WavLMConfig, WavLMModel

    torch.manual_seed(0)
    config = WavLMConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, conv_dim=[32] * 7,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    path = run.scratch / "wavlm"
    WavLMModel(config).save_pretrained(path)
    return str(path)


def aligned(nets: Any, utils: Any, mels: Any, frames: Any, texts: Any, lengths: Any) -> tuple[Any, ...]:
    """Return predictions, soft and hard alignments and the mask of texts, as ``train_first.py`` makes them."""
    n_down = nets.text_aligner.n_down
    mask = utils.length_to_mask(frames // (2**n_down))
    text_mask = utils.length_to_mask(lengths)
    _, predicted, attention = nets.text_aligner(mels, mask, texts)
    attention = attention.transpose(-1, -2)[..., 1:].transpose(-1, -2)
    with torch.no_grad():
        shape = len(texts), mask.shape[1], text_mask.shape[-1]
        outside = (~mask).unsqueeze(-1).expand(shape).float().transpose(-1, -2)
        outside = outside * (~text_mask).unsqueeze(-1).expand(len(texts), text_mask.shape[1], mask.shape[-1]).float()
    attention.masked_fill_(outside < 1, 0.0)
    with torch.no_grad():
        inside = utils.mask_from_lens(attention, lengths, frames // (2**n_down))
        hard = utils.maximum_path(attention, inside)
    return predicted, attention, hard, text_mask


def step(nets: Any, optimizer: Any, criteria: Any, utils: Any, batch: Any) -> dict[str, torch.Tensor]:
    """Do one step of ``train_first.py``."""
    waves, texts, lengths, _, _, mels, frames, _ = batch
    predicted, attention, hard, text_mask = aligned(nets, utils, mels, frames, texts, lengths)
    encoded = nets.text_encoder(texts, lengths, text_mask)
    asr = encoded @ (attention if random.getrandbits(1) else hard)
    size = min(int(frames.min() / 2 - 1), MAX_LENGTH // 2)
    clips: dict[str, list[Any]] = {"text": [], "mel": [], "wave": []}
    for row in range(len(frames)):
        start = np.random.randint(0, int(frames[row] / 2) - size)
        clips["text"].append(asr[row, :, start : start + size])
        clips["mel"].append(mels[row, :, 2 * start : 2 * (start + size)])
        wave = np.array(waves[row][2 * start * HOP : 2 * (start + size) * HOP])
        clips["wave"].append(torch.from_numpy(wave))
    text, mel = torch.stack(clips["text"]), torch.stack(clips["mel"]).detach()
    wave = torch.stack(clips["wave"]).float().detach()
    with torch.no_grad():
        loudness = utils.log_norm(mel.unsqueeze(1)).squeeze(1)
        pitch, _, _ = nets.pitch_extractor(mel.unsqueeze(1))
    made = nets.decoder(text, pitch, loudness, nets.style_encoder(mel.unsqueeze(1)))
    optimizer.zero_grad()
    judged = criteria["dl"](wave.unsqueeze(1), made.detach()).mean()
    judged.backward()
    for name in ("msd", "mpd"):
        optimizer.step(name)
    optimizer.zero_grad()
    found = {
        "mel": 5 * criteria["stft"](made.squeeze(), wave),
        "mono": 10 * torch.nn.functional.l1_loss(attention, hard),
        "s2s": sum(
            torch.nn.functional.cross_entropy(one[:n], ids[:n])
            for one, ids, n in zip(predicted, texts, lengths, strict=True)
        ) / len(texts),
        "generator": criteria["gl"](wave.unsqueeze(1), made).mean(),
        "slm": criteria["wl"](wave, made).mean(),
    }  # fmt: skip
    sum(found.values()).backward()
    for name in ("text_encoder", "style_encoder", "decoder", "text_aligner", "pitch_extractor"):
        optimizer.step(name)
    return {"discriminator": judged, **found}
