"""Parakeet's LJSpeech example: a dataset of metadata, a transform, a collector, two loaders.

    tts-prep demo demo
    python examples/parakeet_ljspeech.py demo/corpus demo/store

The transform reads mel and phonemes from the store; everything else is the code of Parakeet's documentation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tts_prep.loader import DataLoader, DatasetMixin, TransformDataset, UtteranceDataset, split
from tts_prep.recipes import batch_spec, batch_text_id


class LJSpeechMetaData(DatasetMixin):
    def __init__(self, root):
        self.root = Path(root).expanduser()
        wav_dir = self.root / "wavs"
        speaker_name = "ljspeech"
        self.records = []
        for line in (self.root / "metadata.csv").read_text(encoding="utf-8").splitlines():
            filename, _, normalized_text = line.strip().split("|")
            self.records.append([str(wav_dir / f"{filename}.wav"), normalized_text, speaker_name])

    def get_example(self, i):
        return self.records[i]

    def __len__(self):
        return len(self.records)


class Transform:
    def __init__(self, store):
        self.utterances = UtteranceDataset(store)
        self.rows = {name: row for row, name in enumerate(self.utterances.id)}

    def __call__(self, record):
        filename, _, _ = record
        utterance = self.utterances[self.rows[Path(filename).stem]]
        mel = utterance.mel.T
        stop_probs = np.ones([mel.shape[1]], dtype=np.int64)
        stop_probs[-1] = 2
        return utterance.phonemes, mel, stop_probs


class LJSpeechCollector:
    """A simple callable to batch LJSpeech examples."""

    def __init__(self, padding_idx=0, padding_value=0.0):
        self.padding_idx = padding_idx
        self.padding_value = padding_value

    def __call__(self, examples):
        ids = [example[0] for example in examples]
        mels = [example[1] for example in examples]
        stop_probs = [example[2] for example in examples]

        ids = batch_text_id(ids, pad_id=self.padding_idx)
        mels = batch_spec(mels, pad_value=self.padding_value)
        stop_probs = batch_text_id(stop_probs, pad_id=self.padding_idx)
        return ids, np.transpose(mels, [0, 2, 1]), stop_probs


def create_dataloader(source_path, store, valid_size, batch_size):
    meta = LJSpeechMetaData(source_path)
    lj = TransformDataset(meta, Transform(store))

    valid_set, train_set = split(lj, valid_size)
    train_loader = DataLoader(
        train_set, batch_size=batch_size, shuffle=True, drop_last=True, collate_fn=LJSpeechCollector()
    )
    valid_loader = DataLoader(
        valid_set, batch_size=batch_size, shuffle=False, drop_last=False, collate_fn=LJSpeechCollector()
    )
    return train_loader, valid_loader


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--valid-size", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    options = parser.parse_args(arguments)
    for name, loader in zip(
        ("train", "valid"),
        create_dataloader(options.corpus, options.store, options.valid_size, options.batch_size),
        strict=True,
    ):
        for ids, mels, stop_probs in loader:
            print(f"{name}: ids {ids.shape}, mels {mels.shape}, stop_probs {stop_probs.shape}")


if __name__ == "__main__":
    main()
