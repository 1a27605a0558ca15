"""StyleTTS2's build_dataloader over a store.

    tts-prep demo demo
    tts-prep ljspeech demo/corpus demo/styletts2 --preset styletts2 --waveform int16
    python examples/styletts2.py demo/styletts2

The demo has no out-of-domain texts, so the phonemes of the store are used instead.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from tts_prep.loader import UtteranceDataset
from tts_prep.recipes import build_dataloader

NAMES = ("waves", "texts", "input_lengths", "ref_texts", "ref_lengths", "mels", "output_lengths", "ref_mels")


def build(store, validation=False, batch_size=4):
    utterances = UtteranceDataset(store)
    path_list = [f"{name}.wav|{text}|0" for name, text in zip(utterances.id, utterances.phoneme_text, strict=True)]
    return build_dataloader(
        path_list,
        store,
        validation=validation,
        OOD_data=list(utterances.phoneme_text),
        min_length=10,
        batch_size=batch_size,
        collate_config={"output": "torch" if find_spec("torch") else "numpy"},
    )


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    options = parser.parse_args(arguments)
    for batch in build(options.store):
        shapes = (
            f"{name} {len(part) if isinstance(part, list) else tuple(part.shape)}"
            for name, part in zip(NAMES, batch, strict=True)
        )
        print(", ".join(shapes))


if __name__ == "__main__":
    main()
