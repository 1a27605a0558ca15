"""Compare FastPitch's own functions with a store, on the same recordings, and print a markdown table.

    git clone --depth 1 https://github.com/NVIDIA/DeepLearningExamples
    python conformance/nvidia_fastpitch.py --corpus LJSPEECH --durations FOLDER --source DeepLearningExamples

LJSPEECH has the layout of LJ Speech, FOLDER one ID.npy of frames for each character of the normalized text. The
source's TTSDataset reads mel, pitch, energy and prior, its TTSCollate makes the batch, and its average_pitch the
averages; text ids are the store's. pyin takes 3.5 seconds of a core for a second of audio, on both sides. Needed
besides this project: torch, and what the source imports (inflect, librosa, scipy).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tts_prep.loader import UtteranceDataset, average_by_duration
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.run import prepare
from tts_prep.recipes import TTSCollate

FIELDS = ("text", "input_lengths", "mel", "output_lengths", "len_x", "pitch", "energy", "speaker", "attn_prior")


def make_store(options: argparse.Namespace, path: Path) -> UtteranceDataset:
    """Return the store of the recipe: Tacotron 2's mel, pitch by pyin, energy of the log-mel."""
    preset = get_preset("fastpitch")
    mel = preset.config
    features = [
        make_feature("pitch", {"algorithm": "pyin"}, mel),
        make_feature("energy", {"of": "log_mel"}, mel),
        make_feature("durations", {}, mel, options.durations),
    ]
    text = TextConfig("characters", normalize=False, ends=False)
    config = Configuration(limit=options.clips, mel=mel, reading=preset.reading, text=text)
    if not (path / "manifest.json").exists():
        prepare(read_ljspeech(options.corpus), options.corpus, path, config, features=features, jobs=options.jobs)
    return UtteranceDataset(path)


def source_examples(data_function: Any, options: argparse.Namespace, store: UtteranceDataset) -> list[tuple[Any, ...]]:
    """Return what the source's dataset gives for each utterance, with the text ids of the store."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list.txt"
        file.write_text("".join(f"wavs/{uid}.wav|{text}\n" for uid, text in zip(store.id, store.text, strict=True)))
        dataset = data_function.TTSDataset(
            *(str(options.corpus), str(file), ["english_cleaners_v2"], 80),
            p_arpabet=0.0,
            load_mel_from_disk=False,
            load_pitch_from_disk=False,
            max_wav_value=32768.0,
            sampling_rate=22050,
            filter_length=1024,
            hop_length=256,
            win_length=1024,
            mel_fmin=0.0,
            mel_fmax=8000.0,
        )
        # The source writes paths relative to the data set and its list.
        dataset.audiopaths_and_text = [
            [str(options.corpus / "wavs" / f"{uid}.wav"), text] for uid, text in zip(store.id, store.text, strict=True)
        ]
        ids = [torch.as_tensor(np.array(utterance.phonemes), dtype=torch.long) for utterance in store]
        texts = iter(ids)
        dataset.get_text = lambda _: next(texts)
        return [dataset[i] for i in range(len(dataset))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("corpus", "durations", "source"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--clips", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", type=Path, help="where to keep the store for another run")
    options = parser.parse_args()
    folder = next(p for p in (options.source / "PyTorch/SpeechSynthesis/FastPitch", options.source) if p.is_dir())
    sys.path.insert(0, str(folder))
    from fastpitch import data_function
    from fastpitch.model import average_pitch

    store = make_store(options, options.store or Path(tempfile.mkdtemp()) / "store")
    examples = source_examples(data_function, options, store)
    theirs, ours = data_function.TTSCollate()(examples), TTSCollate()(store)
    # torch.sort, with which the source orders the batch by text length, leaves the order of equal lengths open.
    lengths = torch.LongTensor([len(example[0]) for example in examples])
    their_places = np.argsort(torch.sort(lengths, descending=True).indices.numpy())
    our_places = np.argsort(np.argsort(-lengths.numpy(), kind="stable"))
    print(
        f"{len(store)} clips, {sum(store.seconds):.0f} s\n\n| field | shape | largest difference |\n| --- | --- | --- |"
    )
    for name, their, our in zip(FIELDS, theirs, ours, strict=False):
        if their is None:
            assert our is None
            continue
        assert tuple(their.shape) == our.shape, (name, their.shape, our.shape)
        values = their.numpy().astype(np.float64)
        # len_x is in the order of the examples.
        difference = values - our if name == "len_x" else values[their_places] - our[our_places]
        print(f"| {name} | {list(our.shape)} | {np.abs(difference).max():.2g} |")
    voicing = sum(
        int(((their[3][0] != 0).numpy() != (u.arrays["pitch"] != 0)).sum())
        for their, u in zip(examples, store, strict=True)
    )
    averages = energies = 0.0
    for their, utterance in zip(examples, store, strict=True):
        durations = utterance.arrays["durations"]
        assert durations.sum() == their[1].shape[1]
        expected = average_pitch(their[3][None], torch.as_tensor(np.array(durations))[None].float())[0, 0].numpy()
        pitch = TTSCollate()._pitch(utterance.arrays["pitch"])
        averages = max(averages, float(np.abs(average_by_duration(pitch, durations, "nonzero") - expected).max()))
        energies = max(energies, float(np.abs(utterance.arrays["energy"] - their[4].numpy()).max()))
    print(f"| pitch averaged over durations | by utterance | {averages:.2g} |")
    print(f"| energy, the store's array | by utterance | {energies:.2g} |")
    print(f"\nframes voiced on one side only: {voicing}")


if __name__ == "__main__":
    main()
