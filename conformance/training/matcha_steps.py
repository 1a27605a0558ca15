"""Matcha-TTS: its dataset and collate function, and a small MatchaTTS."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import espeakng_loader
from phonemizer.backend.espeak.wrapper import EspeakWrapper
from runs import Run, Trainer, losses, optimized, package, read_audio, texts_of

from tts_prep import recipes

STATISTICS = {"mel_mean": -5.536622, "mel_std": 2.116101}


def compare(run: Run) -> Any:
    # Its text needs espeak-ng, though none of it is used here.
    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    module = package(run.sources / "Matcha-TTS", "matcha.data.text_mel_datamodule")
    models = package(run.sources / "Matcha-TTS", "matcha.models.matcha_tts")
    store = run.store("matcha")
    texts, code = texts_of(store)
    # The symbols of the store instead of its own: what is compared are batches of the same symbols.
    module.text_to_sequence = lambda text, _: ([code[symbol] for symbol in text], text)
    module.ta = SimpleNamespace(load=read_audio)
    lists = (
        run.write_list("theirs", run.resampled(22_050, scale=1), texts), run.write_list("ours", store, texts)
    )  # fmt: skip
    theirs, ours = (
        side.TextMelDataset(str(path), 1, [], data_parameters=STATISTICS, seed=3)
        for side, path in zip((module, recipes), lists, strict=True)
    )

    def make() -> Trainer:
        encoder = SimpleNamespace(
            encoder_type="RoPE Encoder",
            encoder_params=SimpleNamespace(
                n_feats=80, n_channels=32, filter_channels=64, filter_channels_dp=32, n_heads=2, n_layers=1,
                kernel_size=3, p_dropout=0.1, spk_emb_dim=64, n_spks=1, prenet=True,
            ),
            duration_predictor_params=SimpleNamespace(filter_channels_dp=32, kernel_size=3, p_dropout=0.1),
        )  # fmt: skip
        decoder = {
            "channels": [32, 32], "dropout": 0.05, "attention_head_dim": 16, "n_blocks": 1, "num_mid_blocks": 1,
            "num_heads": 2, "act_fn": "snakebeta",
        }  # fmt: skip
        model = models.MatchaTTS(
            1 + max(code.values()), 1, 64, 80, encoder, decoder,
            SimpleNamespace(name="CFM", solver="euler", sigma_min=1e-4), STATISTICS, None,
        )  # fmt: skip
        return optimized(model, lambda model, batch: model.get_losses(batch))

    sides = [
        losses(make, [side.TextMelBatchCollate(1)([data[i] for i in rows]) for rows in run.batches])
        for side, data in ((module, theirs), (recipes, ours))
    ]
    return {"utterances": sides}
