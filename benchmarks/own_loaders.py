"""Time epochs of each system's own dataset and collate function, and of its recipe on a store, in turn.

    python benchmarks/own_loaders.py CORPUS CHECKOUTS [--only NAME ...] [--epochs 5] [--result own-loaders]

CORPUS is in LJ Speech's layout, 22,050 Hz, 16 bits. CHECKOUTS is the folder of conformance/presets.py, with the commit
1db01cc of Parakeet besides, as ``Parakeet@1db01cc``; needed are librosa, pandas, PyYAML, pyworld, six, soundfile and
soxr.

A system's classes run as they stand, at their own settings, in torch's ``DataLoader``; Parakeet's own takes Paddle.
They get what they would cost most with out of the measurement's way: recordings at their own rate, phonemes instead of
texts, and one epoch before the first that counts, in which they fill their caches. The recipe is what ``tts-prep
recipes NAME`` prints, on a store that its commands made, below ``benchmarks/output/``. Both sides make the same batches
of the same rows, with 0 workers and with 2 that stay; where a recipe has tts-prep's own loader, 2 are its
threads, and 0 is none ahead.

Processor time is that of an epoch with that of the workers. torch computes with one thread: with two, each worker
starts as many, and they wait for one another.
"""

from __future__ import annotations

import argparse
import csv
import enum
import functools
import gc
import json
import logging
import os
import pickle
import re
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from corpus import require
from recipe_epochs import WORK, made, processor
from results import Result, describe_machine

require("torch", "librosa", "pandas", "pyworld", "six", "soundfile", "soxr", "yaml")
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "conformance"))

import librosa
import pandas as pd
import pyworld
import scipy.interpolate
import scipy.io.wavfile
import scipy.ndimage
import scipy.stats
import soundfile
import soxr
import torch
from presets import HIFIGAN, difference, only, record, torchaudio
from presets import take as take_widened

from tts_prep import recipes
from tts_prep.loader import DataLoader, UtteranceDataset

take = functools.partial(take_widened, wide=False)
Rows = Sequence[Sequence[int]]
Loader = Callable[[Rows, int], Any]
"""Makes an iterable of batches of given rows, with so many workers."""

SEGMENT = 8192
SIZES = (SEGMENT, 1024, 80, 256, 1024, 22_050, 0)
PITCH = "pitch:unvoiced=interpolated,floor=80,ceiling=400"
WORKERS = (0, 2)
LISTED = (recipes.HiFiGANDataset, recipes.TextAudioLoader, recipes.TextMelDataset)
"""The datasets of recipes that have an order of their own."""


@dataclass(frozen=True)
class Place:
    """Where a system is measured: its checkouts, the corpus at its rate, an empty folder, and the recipe's store."""

    checkouts: Path
    corpus: Path
    folder: Path
    ids: Sequence[str]

    @property
    def store(self) -> UtteranceDataset:
        return UtteranceDataset(self.folder / "store")

    def wav(self, uid: str) -> str:
        return str(self.corpus / "wavs" / f"{uid}.wav")

    def ordered(self, column: str) -> list[Any]:
        """Return the values of a column of the store, or of an attribute of its utterances, in the order of `ids`."""
        store = self.store
        values = getattr(store, column, None)
        if values is None:
            values = [np.array(getattr(utterance, column)) for utterance in store]
        found = dict(zip(store.id, values, strict=True))
        return [found[uid] for uid in self.ids]

    def write_list(self, name: str, values: Sequence[str]) -> str:
        path = self.folder / name
        lines = [f"{self.wav(uid)}|{value}\n" for uid, value in zip(self.ids, values, strict=True)]
        path.write_text("".join(lines), encoding="utf-8")
        return str(path)

    def write_arrays(self, name: str, values: Sequence[Any], write: Callable[[Path, Any], Any], suffix: str) -> Path:
        """Write an array of each utterance into a folder of files, as a system's script would have, and return it."""
        (self.folder / name).mkdir(exist_ok=True)
        for uid, value in zip(self.ids, values, strict=True):
            write(self.folder / name / f"{uid}{suffix}", value)
        return self.folder / name


def read_tensor(path: Any) -> tuple[torch.Tensor, int]:
    """Do what ``torchaudio.load`` did before it needed another package."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T), rate


def of_torch(dataset: Any, collate: Any = None) -> Loader:
    def loader(rows: Rows, workers: int) -> Any:
        return torch.utils.data.DataLoader(
            dataset, batch_sampler=rows, collate_fn=collate, num_workers=workers, persistent_workers=workers > 0
        )

    return loader


def of_printed(make: Callable[..., Any]) -> Loader:
    """Return the loader of a printed recipe, with batches of given rows."""

    def loader(rows: Rows, workers: int) -> Any:
        found = make(batch_size=1)
        if isinstance(found.dataset, recipes.FastSpeech2Dataset):
            found.dataset.batch_size = 16
        if not isinstance(found, DataLoader):
            return of_torch(found.dataset, found.collate_fn)(rows, workers)
        ahead = {"prefetch": 2, "threads": workers} if workers else {"prefetch": 0}
        if isinstance(found.dataset, recipes.FilePathDataset):
            return DataLoader(found.dataset, batch_sampler=rows, collate_fn=recipes.Collater(), **ahead)
        return make(batch_sampler=rows, **ahead)

    return loader


def hifigan(place: Place) -> Loader:
    names = (*HIFIGAN, "MelDataset", "load_wav")
    code = take(place.checkouts / "hifi-gan/meldataset.py", *names, read=scipy.io.wavfile.read)
    files = [place.wav(uid) for uid in place.ids]
    return of_torch(code.MelDataset(files, *SIZES, 8000, shuffle=False, n_cache_reuse=0))


def bigvgan(place: Place) -> Loader:
    names = (*HIFIGAN, "mel_basis_cache", "hann_window_cache", "MelDataset")
    modules = {"librosa": librosa, "pathlib": types.SimpleNamespace(Path=Path), "tqdm": lambda x: x}
    code = take(place.checkouts / "BigVGAN/meldataset.py", *names, **modules)
    files = [place.wav(uid) for uid in place.ids]
    return of_torch(code.MelDataset(files, None, *SIZES, None, shuffle=False))


def vits(place: Place) -> Loader:
    root, corpus = place.checkouts / "vits", place.corpus
    codes = {symbol: number for number, symbol in enumerate(place.store.symbols)}
    reading = take(root / "utils.py", "load_wav_to_torch", "load_filepaths_and_text", read=scipy.io.wavfile.read)
    code = take(
        root / "data_utils.py", "TextAudioLoader", "TextAudioCollate", commons=take(root / "commons.py", "intersperse"),
        spectrogram_torch=take(root / "mel_processing.py", "spectrogram_torch", "hann_window").spectrogram_torch,
        cleaned_text_to_sequence=lambda text: [codes[symbol] for symbol in text],
        **only(reading, "load_wav_to_torch", "load_filepaths_and_text"),
    )  # fmt: skip
    settings = types.SimpleNamespace(
        text_cleaners=[], max_wav_value=32768.0, sampling_rate=22050, filter_length=1024, hop_length=256,
        win_length=1024, cleaned_text=True, add_blank=True, max_text_len=10_000,
    )  # fmt: skip
    # It keeps its spectrograms beside the recordings.
    place = replace(place, corpus=place.folder)
    (place.folder / "wavs").mkdir(exist_ok=True)
    for uid in place.ids:
        Path(place.wav(uid)).unlink(missing_ok=True)
        Path(place.wav(uid)).symlink_to(corpus / "wavs" / f"{uid}.wav")
    dataset = code.TextAudioLoader(place.write_list("theirs.txt", place.ordered("phoneme_text")), settings)
    # It has shuffled its list.
    places = {uid: i for i, uid in enumerate(place.ids)}
    dataset.audiopaths_and_text.sort(key=lambda line: places[Path(line[0]).stem])
    return of_torch(dataset, code.TextAudioCollate())


def matcha(place: Place) -> Loader:
    root, codes = place.checkouts / "Matcha-TTS/matcha", {s: number for number, s in enumerate(place.store.symbols)}
    model = ("normalize", "fix_len_compatibility")
    code = take(
        root / "data/text_mel_datamodule.py", "parse_filelist", "TextMelDataset", "TextMelBatchCollate",
        **only(take(root / "utils/audio.py", *HIFIGAN), "mel_spectrogram"),
        **only(take(root / "utils/model.py", *model), *model),
        **only(take(root / "utils/utils.py", "intersperse"), "intersperse"),
        text_to_sequence=lambda text, _: ([codes[symbol] for symbol in text], text),
        ta=types.SimpleNamespace(load=read_tensor),
    )  # fmt: skip
    dataset = code.TextMelDataset(place.write_list("theirs.txt", place.ordered("phoneme_text")), 1, [])
    places = {uid: i for i, uid in enumerate(place.ids)}
    dataset.filepaths_and_text.sort(key=lambda line: places[Path(line[0]).stem])
    return of_torch(dataset, code.TextMelBatchCollate(1))


def f5_tts(place: Place) -> Loader:
    root = place.checkouts / "F5-TTS/src/f5_tts/model"
    names = ("get_vocos_mel_spectrogram", "vocos_mel_stft_cache", "MelSpec")
    audio = types.SimpleNamespace(load=read_tensor)
    of_mels = take(root / "modules.py", *names, torchaudio=torchaudio(place.checkouts, wide=False))
    code = take(
        root / "dataset.py", "CustomDataset", "collate_fn", torchaudio=audio, Dataset=object, MelSpec=of_mels.MelSpec,
        default=lambda value, other: other if value is None else value,
    )  # fmt: skip
    rows = [
        {"audio_path": place.wav(uid), "text": text, "duration": float(seconds)}
        for uid, text, seconds in zip(place.ids, place.ordered("text"), place.ordered("seconds"), strict=True)
    ]
    return of_torch(code.CustomDataset(rows), code.collate_fn)


def styletts2(place: Place) -> Loader:
    ids = dict(zip(place.ids, place.ordered("phonemes"), strict=True))
    codes = {symbol: number for number, symbol in enumerate(place.store.symbols)}
    code = take(
        place.checkouts / "StyleTTS2/meldataset.py", "SPECT_PARAMS", "MEL_PARAMS", "to_mel", "mean", "preprocess",
        "FilePathDataset", "Collater", torchaudio=torchaudio(place.checkouts, wide=False), pd=pd, osp=os.path,
        librosa=librosa, sf=soundfile,
        TextCleaner=lambda: lambda text: ids[text].tolist() if text in ids else [codes.get(char, 1) for char in text],
    )  # fmt: skip
    lines = [f"{uid}.wav|{uid}|0" for uid in place.ids]
    dataset = code.FilePathDataset(lines, str(place.corpus / "wavs"), OOD_data=str(place.folder / "ood.txt"))
    return of_torch(dataset, code.Collater())


def piper(place: Place) -> Loader:
    root = place.checkouts / "piper1-gpl/src/piper"
    kinds = {"dataclass": record, "Enum": enum.Enum, "field": lambda default_factory: default_factory()}
    scales = ("DEFAULT_NOISE_SCALE", "DEFAULT_LENGTH_SCALE", "DEFAULT_NOISE_W_SCALE", "DEFAULT_HOP_LENGTH")
    config = take(root / "config.py", "PhonemeType", "PiperConfig", *scales, **kinds)
    classes = ("CachedUtterance", "DatasetType", "VitsDataModule", "VitsDataset", "UtteranceTensors", "Batch")
    code = take(
        root / "train/vits/dataset.py", *classes, "VAD_SAMPLE_RATE", "UtteranceCollate",
        L=types.SimpleNamespace(LightningDataModule=object), **kinds, **only(config, "PhonemeType", "PiperConfig"),
        DEFAULT_PHONEME_ID_MAP={}, default_phonemes_to_ids=None, EspeakPhonemizer=lambda: None,
        SileroVoiceActivityDetector=lambda: None, Path=Path, json=json, csv=csv, Dataset=object, librosa=librosa,
        FloatTensor=torch.FloatTensor, LongTensor=torch.LongTensor, _LOGGER=logging.getLogger(),
        get_cache_id=lambda row, *_, **__: str(row), random_split=lambda dataset, _: (dataset, None, None),
        spectrogram_torch=take(root / "train/vits/mel_processing.py", "spectrogram_torch", "hann_window")
        .spectrogram_torch,
    )  # fmt: skip
    rows = zip(place.ids, place.ordered("phonemes"), strict=True)
    listed = place.folder / "theirs.csv"
    listed.write_text("".join(f"{uid}|Text.|{' '.join(map(str, ids.tolist()))}\n" for uid, ids in rows))
    module = code.VitsDataModule(
        listed, place.folder / "cache", "en-us", place.folder / "config.json", "voice",
        audio_dir=place.corpus / "wavs", trim_silence=False, dataset_type="phoneme_ids",
    )  # fmt: skip
    module.prepare_data()
    module.setup("fit")
    # Workers send its batches, of which pickle has to find the class.
    code.Batch.__module__, globals()["Batch"] = __name__, code.Batch
    return of_torch(module.train_dataset, code.UtteranceCollate(False, SEGMENT))


def fastpitch(place: Place) -> Loader:
    root = place.checkouts / "DeepLearningExamples/PyTorch/SpeechSynthesis/FastPitch"
    folder = root / "common"
    compression = only(take(folder / "audio_processing.py"), "dynamic_range_compression", "dynamic_range_decompression")
    layers = take(folder / "layers.py", "TacotronSTFT", STFT=take(folder / "stft.py", "STFT").STFT, **compression)
    ids = dict(zip(place.ids, place.ordered("phonemes"), strict=True))
    code = take(
        root / "fastpitch/data_function.py", layers=layers, librosa=librosa, ndimage=scipy.ndimage, Path=Path,
        betabinom=scipy.stats.betabinom, functools=functools,
        load_wav_to_torch=take(folder / "utils.py", "load_wav_to_torch", read=scipy.io.wavfile.read).load_wav_to_torch,
        get_text_processing=lambda *_: types.SimpleNamespace(
            encode_text=lambda text: ids[text].tolist() if text in ids else [1, 1]
        ),
        load_filepaths_and_text=lambda *_, **__: rows,
    )  # fmt: skip
    pitch = [torch.from_numpy(np.array(u.arrays["pitch"]))[None] for u in place.store]
    pitch = [dict(zip(place.store.id, pitch, strict=True))[uid] for uid in place.ids]
    at = place.write_arrays("pitch", pitch, lambda path, value: torch.save(value, path), ".pt")
    rows = [[place.wav(uid), str(at / f"{uid}.pt"), uid] for uid in place.ids]
    dataset = code.TTSDataset(
        "", "", [], 80, load_mel_from_disk=False, max_wav_value=32768.0, sampling_rate=22050, filter_length=1024,
        hop_length=256, win_length=1024, mel_fmin=0.0, mel_fmax=8000.0,
    )  # fmt: skip
    return of_torch(dataset, code.TTSCollate())


def fastspeech2(place: Place) -> Loader:
    root, built = place.checkouts / "FastSpeech2", place.folder / "built"
    if not built.exists():
        run("export", str(place.folder / "store"), str(built), "--to", "fastspeech2")
    lines = "".join((built / name).read_text(encoding="utf-8") for name in ("train.txt", "val.txt")).splitlines(True)
    of_id = {line.split("|")[0]: line for line in lines}
    (built / "all.txt").write_text("".join(of_id[uid] for uid in place.ids), encoding="utf-8")
    parts = ("_pad", "_punctuation", "_special", "_letters", "_silences", "_arpabet", "_pinyin", "symbols")
    tables = {name: take(root / f"text/{name}.py", "valid_symbols", "initials", "finals") for name in (
        "cmudict", "pinyin")}  # fmt: skip
    symbols = take(root / "text/symbols.py", *parts, **tables).symbols
    names = ("_symbol_to_id", "_curly_re", "text_to_sequence", "_clean_text", "_symbols_to_sequence",
             "_arpabet_to_sequence", "_should_keep_symbol")  # fmt: skip
    # Its texts are phones in braces: its cleaners get what is around them, which is empty.
    cleaners = types.SimpleNamespace(english_cleaners=lambda text: text)
    text = take(root / "text/__init__.py", *names, symbols=symbols, re=re, cleaners=cleaners)
    code = take(
        root / "dataset.py", "Dataset", Dataset=object, json=json, **only(text, "text_to_sequence"),
        **only(take(root / "utils/tools.py", "pad_1D", "pad_2D"), "pad_1D", "pad_2D"),
    )  # fmt: skip
    config = {"dataset": "LJSpeech", "path": {"preprocessed_path": str(built)},
              "preprocessing": {"text": {"text_cleaners": ["english_cleaners"]}}}  # fmt: skip
    dataset = code.Dataset("all.txt", config, {"optimizer": {"batch_size": 16}}, sort=True, drop_last=True)
    return of_torch(dataset, dataset.collate_fn)


def with_stops(example: Any) -> Any:
    """Do what Parakeet's ``Transform`` does, but for frames before and behind."""
    ids, mel = example
    stops = np.ones([mel.shape[1]], dtype=np.int64)
    stops[-1] = 2
    return np.array(ids, dtype=np.int64), mel, stops


def parakeet_parts(place: Place, batch: Any) -> Any:
    """Return the dataset of examples/transformer_tts on the files of its script, and its collate function."""
    mels = place.write_arrays("mel", [np.array(mel).T for mel in place.ordered("mel")], np.save, ".npy").parent
    rows = [(uid, "", "", ids.tolist()) for uid, ids in zip(place.ids, place.ordered("phonemes"), strict=True)]
    (mels / "metadata.pkl").write_bytes(pickle.dumps(rows))
    at = place.checkouts / "Parakeet/examples/transformer_tts/ljspeech.py"
    code = take(at, "LJSpeech", "LJSpeechCollector", Dataset=object, Path=Path, pickle=pickle, **batch)
    return code.LJSpeech(mels), code.LJSpeechCollector()


def parakeet(place: Place) -> Loader:
    at = place.checkouts / "Parakeet/parakeet/data"
    # They returned no lengths when its example was written.
    batch = {
        name: lambda *given, f=function, **more: f(*given, **more)[0]
        for name, function in only(take(at / "batch.py"), "batch_text_id", "batch_spec").items()
    }
    dataset, collate = parakeet_parts(place, batch)
    return of_torch(take(at / "dataset.py", Dataset=object).TransformDataset(dataset, with_stops), collate)


def parakeet_cargo(place: Place) -> Loader:
    at = place.checkouts / "Parakeet@1db01cc/parakeet/data"
    import six

    batch = only(take(at / "batch.py"), "batch_text_id", "batch_spec")
    dataset, collate = parakeet_parts(place, batch)
    data = take(at / "dataset.py", six=six, tqdm=lambda x: x)
    samplers = only(take(at / "sampler.py", six=six), "SequentialSampler", "RandomSampler", "BatchSampler")
    cargo = take(at / "datacargo.py", six=six, **samplers).DataCargo
    cached = data.CacheDataset(data.TransformDataset(dataset, with_stops))
    return lambda rows, _: cargo(cached, batch_fn=collate, batch_sampler=rows)


def cargo_recipe(_: Any) -> Loader:
    collate = recipes.LJSpeechCollector()
    return lambda rows, _: recipes.DataCargo(UtteranceDataset("store"), collate, batch_sampler=rows)


def speechain_files(folder: Path, ids: Sequence[str], features: Sequence[str], name: str) -> dict[str, str]:
    """Write the lists of features, phonemes and durations, and return their paths."""
    texts = dict(zip(UtteranceDataset(folder / "store").id, UtteranceDataset(folder / "store").text, strict=True))
    tokens = [["<space>", *(c.upper() for c in texts[uid] if c.isalpha()), "<space>"] for uid in ids]
    values = {
        "feat": features,
        "text": [repr(some) for some in tokens],
        "duration": [repr([f"{0.03 + 0.01 * (i % 7):.2f}" for i in range(len(some))]) for some in tokens],
    }
    paths = {field: folder / f"{name}-idx2{field}" for field in values}
    for field, path in paths.items():
        path.write_text("".join(f"{uid} {value}\n" for uid, value in zip(ids, values[field], strict=True)))
    return {field: str(path) for field, path in paths.items()}


def speechain(place: Place) -> Loader:
    at = place.checkouts / "SpeeChain/speechain"
    reading = take(at / "utilbox/data_loading_util.py", sf=soundfile, parse_path_args=str, json=json)
    of_pitch = take(
        at / "utilbox/feat_util.py", "convert_wav_to_pitch", pyworld=pyworld, interp1d=scipy.interpolate.interp1d,
        to_native=take(at / "utilbox/tensor_util.py", "to_native").to_native,
    )  # fmt: skip
    code = take(
        at / "dataset/speech_text.py", "SpeechTextDataset", partial=functools.partial,
        Dataset=take(at / "dataset/abs.py", "Dataset", ABC=object, **vars(reading)).Dataset,
        read_data_by_path=reading.read_data_by_path, convert_wav_to_pitch=of_pitch.convert_wav_to_pitch,
    )  # fmt: skip
    lists = speechain_files(place.folder, place.ids, [place.wav(uid) for uid in place.ids], "theirs")
    dataset = code.SpeechTextDataset(lists, sample_rate=22_050, pitch_conf={"hop_length": 256})

    def loader(rows: Rows, workers: int) -> Any:
        return of_torch(dataset, dataset.collate_fn)([[place.ids[i] for i in batch] for batch in rows], workers)

    return loader


def speechain_recipe(_: Any) -> Loader:
    ids = UtteranceDataset("store").id
    lists = speechain_files(Path.cwd(), ids, [f"{Path.cwd()}/store:{i}:waveform" for i in range(len(ids))], "ours")
    conf = {"main_data": lists, "sample_rate": 22_050, "pitch_conf": {"hop_length": 256}}

    def loader(rows: Rows, workers: int) -> Any:
        config = {"dataset_type": "speech_text.SpeechTextDataset", "dataset_conf": conf, "num_workers": workers}
        config = {"type": "abs.Iterator", "conf": {**config, "shuffle": False, "batch_size": 32}}
        (found,) = recipes.build_iterators({"train": config}, output="torch")["train"].loaders.values()
        places = {uid: i for i, uid in enumerate(found.dataset.ids)}
        batches = [[places[ids[i]] for i in batch] for batch in rows]
        return DataLoader(
            found.dataset, batch_sampler=batches, collate_fn=found.collate_fn, output="torch",
            prefetch=2 * workers, threads=workers or 1,
        )  # fmt: skip

    return loader


@dataclass(frozen=True)
class System:
    """How a system's own loader is made, and which batches are made and compared.

    Attributes:
        name: that of ``tts-prep recipes``, or of its own.
        title: of the row.
        reads: what it does for an utterance of each batch.
        theirs: makes its loader.
        batch: rows of a batch in its configuration.
        fields: what is compared, by name or number in a batch.
        rate: of the recordings that it is given, Hz.
        command: what makes the store, where no guide is printed.
        recipe: makes the recipe's loader where nothing is printed that does.
        alone: utterances of equal length have no order: they are compared in batches of one.
        segments: it draws the start of a segment; what is compared are whole recordings.
        cut: frames at the end of a recording that the source computes from what it has cut off.
        workers: that can be given to it.
    """

    name: str
    title: str
    reads: str
    theirs: Callable[[Place], Loader]
    batch: int
    fields: tuple[int | str, ...]
    rate: int = 22_050
    command: tuple[str, ...] = ()
    recipe: Callable[[Any], Loader] | None = None
    alone: bool = False
    segments: bool = False
    cut: int = 0
    workers: tuple[int, ...] = WORKERS


_SPEC = (0, 1, 2, 3, 4, 5)
_BATCH = ("phoneme_ids", "phoneme_lengths", "spectrograms", "spectrogram_lengths", "audios", "audio_lengths")
PARAKEET = ("--preset", "parakeet")
SYSTEMS = (
    System("speechain", "SpeeChain, with pitch", "computes pitch", speechain, 32, ("feat", "feat_len", "pitch"),
           command=("--preset", "speechain-tts", "--waveform", "int16", "--feature", PITCH), recipe=speechain_recipe),
    System("fastpitch", "FastPitch", "computes mels, interpolates priors", fastpitch, 16, (0, 1, 2, 3, 5, 6, 8),
           alone=True),
    System("styletts2", "StyleTTS 2", "computes two mels", styletts2, 16, (1, 2, 5, 6), 24_000, alone=True),
    System("matcha", "Matcha-TTS", "computes mels", matcha, 32, ("x", "x_lengths", "y", "y_lengths")),
    System("f5-tts", "F5-TTS", "computes mels", f5_tts, 62, ("mel", "mel_lengths", "text_lengths"), 24_000),
    System("hifigan", "HiFi-GAN", "computes mels of segments", hifigan, 16, (0, 1, 3), segments=True),
    System("bigvgan", "BigVGAN", "computes mels of segments", bigvgan, 32, (0, 1, 3), segments=True, cut=2),
    System("vits", "VITS", "reads .spec.pt and .wav", vits, 64, _SPEC),
    System("piper", "Piper", "reads .spec.pt and .audio.pt", piper, 32, _BATCH),
    System("fastspeech2", "FastSpeech 2", "reads four .npy", fastspeech2, 64, (3, 4, 6, 7, 9, 10, 11)),
    System("parakeet", "Parakeet, Transformer TTS", "reads .npy", parakeet, 16, (0, 1, 2)),
    System("parakeet-cargo", "Parakeet, DataCargo of CacheDataset", "has all in memory", parakeet_cargo, 16, (0, 1, 2),
           command=PARAKEET, recipe=cargo_recipe, workers=(0,)),
)  # fmt: skip


def run(*command: str) -> None:
    subprocess.run([sys.executable, "-m", "tts_prep", *command, "--quiet"], check=True, stdout=sys.stderr)


def at_rate(corpus: Path, rate: int) -> Path:
    """Return the corpus at another rate, in 16 bits, as StyleTTS 2's page asks for; written once."""
    own = soundfile.info(next((corpus / "wavs").iterdir())).samplerate
    if rate == own:
        return corpus
    folder = WORK / f"{corpus.name}-{rate}"
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    for path in (corpus / "wavs").iterdir():
        if not (folder / "wavs" / path.name).exists():
            samples, _ = soundfile.read(path, dtype="float32")
            soundfile.write(folder / "wavs" / path.name, soxr.resample(samples, own, rate, quality="VHQ"), rate)
    (folder / "metadata.csv").write_bytes((corpus / "metadata.csv").read_bytes())
    return folder


def both(system: System, corpus: Path, checkouts: Path) -> tuple[Loader, Loader, int]:
    """Return a system's own loader, the recipe's, and the number of utterances."""
    corpus = at_rate(corpus, system.rate)
    folder = WORK / f"recipes-{corpus.name}-{system.name}"
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    with (corpus / "metadata.csv").open(encoding="utf-8") as lines:
        others = [line.rstrip("\n").split("|")[-1] for line, _ in zip(lines, range(200), strict=False)]
    (folder / "ood.txt").write_text("".join(f"{text}\n" for text in others if len(text) > 60), encoding="utf-8")
    if system.command and not (folder / "store/manifest.json").exists():
        run("ljspeech", str(corpus), "store", *system.command)
    if system.recipe:
        ours, ids = system.recipe(folder), list(UtteranceDataset("store").id)
    else:
        make = made(system.name, corpus, folder, OOD_TEXTS=folder / "ood.txt")
        dataset = make(batch_size=1).dataset
        listed = getattr(dataset, "utterances", None) if isinstance(dataset, LISTED) else None
        ids = [store.id[row] for store, row in listed.places] if listed is not None else list(dataset.id)
        ours = of_printed(make)
    return system.theirs(Place(checkouts, corpus, folder, ids)), ours, len(ids)


def largest_difference(system: System, theirs: Loader, ours: Loader, rows: Rows) -> float:
    """Return by how much values of the first batch differ; of values above 1, relative to them."""
    some = [[i] for i in rows[0]] if system.alone or system.segments else rows[:1]
    sides = [loader(some, 0) for loader in (theirs, ours)]
    if system.segments:
        for side in sides:
            side.dataset.split = False
    found = 0.0
    for pair in zip(*sides, strict=True):
        # A batch of FastSpeech 2 is a list of batches.
        groups = [batch if isinstance(batch, list) and isinstance(batch[0], tuple) else [batch] for batch in pair]
        for a, b in zip(*groups, strict=True):
            for field in system.fields:
                x, y = (
                    np.asarray(one[field] if isinstance(one, dict | list | tuple) else getattr(one, field))
                    for one in (a, b)
                )
                if system.cut and x.ndim > 2:
                    x, y = x[..., : -system.cut], y[..., : -system.cut]
                found = max(found, difference(x, y, relative=True))
    if system.segments:
        for side in sides:
            side.dataset.split = True
    return found


def contiguous(batch: Any) -> bool:
    """Copy the tensors of a batch that are views with exchanged axes, as a model or a GPU does; return True."""
    for value in batch if isinstance(batch, tuple | list) else ():
        if isinstance(value, torch.Tensor):
            value.contiguous()
    return True


def in_turn(loaders: Sequence[Loader], rows: Rows, workers: int, n: int) -> list[list[tuple[float, float]]]:
    """Return seconds and processor seconds of each epoch of each side, the first of them before caches are warm."""
    sides = [loader(rows, workers) for loader in loaders]
    found: list[list[tuple[float, float]]] = [[] for _ in sides]
    for _ in range(n + 1):
        for side, times in zip(sides, found, strict=True):
            gc.collect()
            started, before = time.perf_counter(), processor()
            batches = sum(1 for batch in side if contiguous(batch))
            times.append((time.perf_counter() - started, processor() - before))
            assert batches == len(rows), (batches, len(rows))
    return found


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def measured(system: System, corpus: Path, checkouts: Path, n: int) -> dict[str, Any]:
    """Return the epochs of both sides by number of workers, the number of batches, and the largest difference."""
    *loaders, size = both(system, corpus, checkouts)
    order = np.random.default_rng(0).permutation(size).tolist()
    batch = min(system.batch, size)
    rows = [order[i : i + batch] for i in range(0, size - batch + 1, batch)]
    # Values first: what is not equal is not compared in speed, and all caches on disk are filled.
    apart = largest_difference(system, *loaders, rows)
    epochs = {workers: in_turn(loaders, rows, workers, n) for workers in system.workers}
    return {"batches": len(rows), "difference": apart, "epochs": epochs}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time systems' own loaders and recipes in turn.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("checkouts", type=Path)
    names = [system.name for system in SYSTEMS]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, default=names)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus, checkouts = options.corpus.resolve(), options.checkouts.resolve()
    rows, numbers, bars = [], {}, {}
    for system in SYSTEMS:
        if system.name not in options.only:
            continue
        found = measured(system, corpus, checkouts, options.epochs)
        sides = {workers: [tuple(zip(*times[1:], strict=True)) for times in epochs]
                 for workers, epochs in found["epochs"].items()}  # fmt: skip
        cells, best = [], []
        for side in (0, 1):
            seconds = [spread(sides[w][side][0]) if w in sides else "–" for w in WORKERS]
            spent = [f"{statistics.median(sides[w][side][1]):.2f}" if w in sides else "–" for w in WORKERS]
            cells += [*seconds, *spent]
            best.append(min(statistics.median(sides[w][side][0]) for w in sides))
            for w in sides:
                numbers[f"{system.title}, {('own', 'recipe')[side]}, {w} workers"] = statistics.median(
                    sides[w][side][0]
                )
        own, recipe = (statistics.median(sides[0][side][1]) for side in (0, 1))
        bars[system.title] = [found["batches"] / value for value in (best[0], statistics.median(sides[0][1][0]))]
        rows.append([system.title, system.reads, f"{found['batches']} of {system.batch}", *cells,
                     f"{own / recipe:.1f}", f"{found['difference']:.1e}"])  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)
    columns = ["system", "what its own does for an utterance", "batches"]
    columns += [f"{side}: {what}, {w} workers" for side in ("own", "recipe") for what in ("s an epoch", "processor s")
                for w in WORKERS]  # fmt: skip
    columns += ["own to recipe, processor s, 0 workers", "largest difference"]
    clips = len((corpus / "metadata.csv").read_text(encoding="utf-8").splitlines())
    settings = (
        f"{clips:,} clips, {options.epochs} epochs of each side in turn after the first: medians (least–most); "
        "OMP_NUM_THREADS=1"
    )
    versions = [f"torch {torch.__version__}", f"librosa {librosa.__version__}", f"pyworld {pyworld.__version__}"]
    Result(columns, rows, numbers, settings, describe_machine(), versions, {"batches a second": bars}).show(
        options.result
    )


if __name__ == "__main__":
    main()
