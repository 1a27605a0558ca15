"""Parakeet's WaveNet example, by the names of its older API.

tts-prep demo demo
tts-prep ljspeech demo/corpus demo/wavenet --preset parakeet-wavenet --waveform int16
python examples/parakeet_wavenet.py demo/wavenet
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tts_prep.loader import RandomSampler, SequentialSampler, SliceDataset, UtteranceDataset
from tts_prep.recipes import DataCargo, DataCollector


def build_cargos(store, valid_size=2, batch_size=4, context_size=2048, train_clip_seconds=0.25):
    # building the ljspeech dataset: the store has the results of Transform
    ljspeech = UtteranceDataset(store)
    sample_rate, hop_length = ljspeech.sample_rate, ljspeech.hop_length

    # split them into train and valid dataset
    ljspeech_valid = SliceDataset(ljspeech, 0, valid_size)
    ljspeech_train = SliceDataset(ljspeech, valid_size, len(ljspeech))

    # building batch functions (they can be differnt for training and validation if you need it)
    train_batch_fn = DataCollector(context_size, sample_rate, hop_length, train_clip_seconds)
    valid_batch_fn = DataCollector(context_size, sample_rate, hop_length, train_clip_seconds, valid=True)

    # building the data cargo
    train_cargo = DataCargo(ljspeech_train, train_batch_fn, batch_size, sampler=RandomSampler(ljspeech_train))
    valid_cargo = DataCargo(
        ljspeech_valid,
        valid_batch_fn,
        batch_size=1,  # only batch=1 for validation is enabled
        sampler=SequentialSampler(ljspeech_valid),
    )
    return train_cargo, valid_cargo


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    options = parser.parse_args(arguments)
    for name, cargo in zip(("train", "valid"), build_cargos(options.store), strict=True):
        for audios, mels, audio_starts in cargo:
            print(f"{name}: audios {audios.shape}, mels {mels.shape}, audio_starts {audio_starts.tolist()}")


if __name__ == "__main__":
    main()
