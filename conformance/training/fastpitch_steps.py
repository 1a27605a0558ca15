"""FastPitch: NVIDIA's dataset, collate function, model and losses."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
import torch
from runs import STEPS, Run, Trainer, losses, optimized, package

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.recipes import TTSCollate

SMALL = {
    "symbols_embedding_dim": 32, "in_fft_n_layers": 1, "in_fft_d_head": 16, "in_fft_conv1d_filter_size": 64,
    "in_fft_output_size": 32, "out_fft_n_layers": 1, "out_fft_d_head": 16, "out_fft_conv1d_filter_size": 64,
    "out_fft_output_size": 32, "dur_predictor_filter_size": 32, "pitch_predictor_filter_size": 32,
    "energy_predictor_filter_size": 32,
}  # fmt: skip


def as_tensors(batch: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(torch.as_tensor(value) if isinstance(value, np.ndarray) else value for value in batch)


def compare(run: Run) -> Any:
    checkout = run.sources / "DeepLearningExamples" / "PyTorch" / "SpeechSynthesis" / "FastPitch"
    # It looks for its dictionary in the working folder.
    os.chdir(checkout)
    data, model, arguments, loss_function = (
        package(checkout, f"fastpitch.{name}") for name in ("data_function", "model", "arg_parser", "loss_function")
    )
    text = TextConfig("characters", normalize=False, ends=False)
    store = UtteranceDataset(run.store("fastpitch", features={"pitch": {"algorithm": "pyin"}}, text=text))
    folder = run.resampled(22_050)
    rows = [[str(folder / f"{uid}.wav"), text] for uid, text in zip(store.id, store.text, strict=True)]
    listed = run.write_list("theirs", folder, dict(zip(store.id, store.text, strict=True)))
    theirs = data.TTSDataset(
        str(folder), str(listed), ["english_cleaners_v2"], 80, p_arpabet=0.0, load_mel_from_disk=False,
        load_pitch_from_disk=False, max_wav_value=32768.0, sampling_rate=22050, filter_length=1024, hop_length=256,
        win_length=1024, mel_fmin=0.0, mel_fmax=8000.0,
    )  # fmt: skip
    theirs.audiopaths_and_text = rows
    ids = dict(zip(store.text, [np.array(utterance.phonemes) for utterance in store], strict=True))
    # The ids of the store instead of its own: what is compared are batches of the same texts.
    theirs.get_text = lambda text: torch.as_tensor(ids[text], dtype=torch.long)

    def make() -> Trainer:
        given = vars(arguments.parse_fastpitch_args(argparse.ArgumentParser(add_help=False)).parse_known_args([])[0])
        del given["max_seq_len"]
        settings = {
            **given, "n_mel_channels": 80, "n_symbols": len(store.symbols), "padding_idx": 0, "n_speakers": 1,
            "speaker_emb_weight": 1.0, **SMALL,
        }  # fmt: skip
        criterion = loss_function.FastPitchLoss()

        def loss(network: Any, batch: Any) -> Any:
            x, y, _ = data.batch_to_gpu(batch)
            return criterion(network(x), y)[0]

        return optimized(model.FastPitch(**settings), loss)

    # Texts that are shorter than the longest one of a batch get −inf, of which torch's CTC makes NaN without a GPU:
    # the models learn from one utterance at a time, and the loss of the batches of two is that of the first step.
    sides = [
        (theirs, lambda rows: data.TTSCollate()(rows)),
        (store, lambda rows: as_tensors(TTSCollate()(rows))),
    ]
    singles = [[run.batches[step][0]] for step in range(STEPS)]
    examples = [[side[i] for i in range(len(store))] for side, _ in sides]
    found = {}
    for kind, batches in (("one utterance", singles), ("two utterances, one step", run.batches[:1])):
        found[kind] = [
            losses(make, [collate([given[i] for i in rows]) for rows in batches])
            for given, (_, collate) in zip(examples, sides, strict=True)
        ]
    return found
