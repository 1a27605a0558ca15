"""F5-TTS: its dataset, collate function and CFM with a small DiT."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torchaudio
from runs import Run, Trainer, losses, optimized, package, read_audio

from tts_prep.loader import UtteranceDataset
from tts_prep.recipes import F5TTSDataset, collate_f5tts


def compare(run: Run) -> Any:
    folder = run.sources / "F5-TTS" / "src"
    module = package(folder, "f5_tts.model.dataset")
    cfm, dit = (package(folder, f"f5_tts.model.{name}") for name in ("cfm", "backbones.dit"))
    module.torchaudio = SimpleNamespace(load=read_audio, transforms=torchaudio.transforms)
    path = run.store("f5-tts")
    store = UtteranceDataset(path)
    rows = [
        {"audio_path": str(run.wav(uid)), "text": text, "duration": float(seconds)}
        for uid, text, seconds in zip(store.id, store.text, store.seconds, strict=True)
    ]
    theirs, ours = module.CustomDataset(rows), F5TTSDataset(path)

    def make() -> Trainer:
        transformer = dit.DiT(dim=64, depth=2, heads=2, dim_head=32, text_dim=32, conv_layers=1, text_num_embeds=256)
        return optimized(cfm.CFM(transformer), loss)

    def loss(model: Any, batch: Any) -> torch.Tensor:
        return model(batch["mel"].permute(0, 2, 1), text=batch["text"], lens=batch["mel_lengths"])[0]

    sides = [
        losses(make, [collate([side[i] for i in rows]) for rows in run.batches])
        for side, collate in ((theirs, module.collate_fn), (ours, collate_f5tts))
    ]
    return {"utterances": sides}
