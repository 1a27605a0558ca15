"""Compare the batches of recipes with those of their sources' own datasets, from the same recordings on.

    python conformance/recipes_from_files.py CHECKOUTS [CLIPS...] --write docs/recipes-recordings.json

CHECKOUTS, CLIPS, the environment and the recordings are those of conformance/recordings.py; needed besides are pandas,
pyworld, examples/transformer_tts of Parakeet@0327874, and the program sox, which does for Vocos what torchaudio did
with its library. The dataset and collate function of a source run as they stand, in float64, on the recordings that
they read, and the command makes a store with the recipe's preset, of which the recipe makes the batch. The ids of texts
are the store's on both sides; conformance/symbols.py compares these. What a source draws at random is the recipe's
draw.

Recipes of codes have no mels: conformance/token_layouts.py and codec_language_models.py compare their files.
conformance/fastspeech2.py compares that one, speechain.py all configurations of SpeeChain on recordings of noise, and
recordings.py what is before the mels.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import enum
import functools
import io
import itertools
import json
import logging
import os
import subprocess
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import pandas as pd
import pyworld
import scipy.interpolate
import scipy.io.wavfile
import scipy.ndimage
import scipy.stats
import soundfile
import torch
from presets import HIFIGAN, difference, draws, library, only, record, sources, take, torchaudio
from recordings import AUDIO, NotReadError, make_recordings, speechain_script

from tts_prep import recipes
from tts_prep.cli.main import main as tts_prep
from tts_prep.loader import UtteranceDataset

Batch = dict[str, Any]
"""What is compared, by name: an array, or a list of arrays."""

TEXTS = ("A pale hat.", "She sells sea shells.", "What a day it was!", "Go.", "Printing, in the only sense.")
SEGMENT = 8192
NOT_16 = "not 16 bits"


def load(path: Any, sr: int | None = 22_050, mono: bool = True) -> tuple[Any, int]:
    x, rate = librosa.load(path, sr=sr, mono=mono)
    return x.astype(np.float64), rate


def resample(x: Any, orig_sr: int, target_sr: int) -> Any:
    return librosa.resample(x.astype(np.float32), orig_sr=orig_sr, target_sr=target_sr).astype(np.float64)


def own_librosa() -> types.SimpleNamespace:
    """Return librosa, whose samples are as it reads and resamples them, in float64."""
    found = library()
    found.load, found.resample, found.note_to_hz = load, resample, librosa.note_to_hz
    found.pyin = lambda x, **named: librosa.pyin(x.astype(np.float32), **named)
    return found


def by_scipy(path: Any) -> tuple[Any, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rate, samples = scipy.io.wavfile.read(path)
    if samples.ndim > 1:
        raise NotReadError("two channels")
    # Of 32 bits, both sides keep those of float32.
    return (samples if samples.dtype == np.int16 else samples.astype(np.float32).astype(np.float64)), rate


def tensor_of_16_bits(path: Any) -> tuple[torch.Tensor, int]:
    samples, rate = by_scipy(path)
    if samples.dtype != np.int16:
        raise NotReadError(NOT_16)
    return torch.from_numpy(samples.astype(np.float64)), rate


def read_rounded(path: Any) -> tuple[Any, int]:
    """Read as soundfile does; what StyleTTS2 does not resample is rounded to float32, as it does itself later."""
    x, rate = soundfile.read(path)
    return (x.astype(np.float32).astype(np.float64) if rate == 24_000 else x), rate


class Corpus:
    """The recordings, and stores of them."""

    def __init__(self, root: Path, recordings: list[Path], folder: Path) -> None:
        self.root, self.recordings, self.folder = root, recordings, folder
        self.wavs = recordings[0].parent
        self.not_read: Counter[str] = Counter()

    def store(self, preset: str, *options: str) -> UtteranceDataset:
        """Return the command's store of the recordings, with a column of their peaks and waveforms in float32."""
        listed, store = self.folder / "list.txt", self.folder / f"store-{preset}"
        lines = []
        for path, text in zip(self.recordings, itertools.cycle(TEXTS), strict=False):
            peak = np.abs(soundfile.read(path, dtype="float32", always_2d=True)[0].mean(axis=1)).max()
            lines.append(f"{path}|{text}|{path.stem}|0|{peak:.9g}\n")
        listed.write_text("".join(lines), encoding="utf-8")
        given = ("--columns", "path|text|id|speaker|recording_peak", "--preset", preset, "--waveform", "float32")
        command = ["filelist", str(listed), str(store), *given, "--max-failures", "100%", "--jobs", "1", *options]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            tts_prep([*command, "--quiet"])
        if not (store / "manifest.json").exists():
            raise SystemExit(f"{preset}: {said.getvalue()}")
        return UtteranceDataset(store)

    def read(self, store: UtteranceDataset, item: Callable[[Path], Any]) -> dict[str, Any]:
        """Return what a source's dataset makes of the recordings that it reads and the store has, by id."""
        ids, found, self.not_read = set(store.id), {}, Counter()
        for path in self.recordings:
            if path.stem not in ids:
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    found[path.stem] = item(path)
                except (AssertionError, IndexError, NotReadError, RuntimeError, ValueError) as error:
                    known = isinstance(error, NotReadError)
                    self.not_read[str(error) if known else "another rate, or too short"] += 1
        return found

    def write_list(self, name: str, folder: Path, texts: dict[str, str]) -> str:
        """Write lines of path and text, and return the path of the file."""
        path = self.folder / name
        path.write_text("".join(f"{folder / uid}.wav|{text}\n" for uid, text in texts.items()), encoding="utf-8")
        return str(path)


def rows_of(store: UtteranceDataset, ids: Any) -> UtteranceDataset:
    places = {uid: i for i, uid in enumerate(store.id)}
    return store.select([places[uid] for uid in ids])


def named(names: str, *batches: Any) -> tuple[Batch, ...]:
    """Name the fields of batches that are sequences; a name ``-`` leaves a field out."""
    return tuple(
        {name: field for name, field in zip(names.split(), batch, strict=False) if name != "-"} for batch in batches
    )


Compared = Iterator[tuple[str, int, Batch, Batch]]


def of_files(corpus: Corpus, store: UtteranceDataset, theirs: Callable[[str], Any], ours: Any, split: bool) -> Any:
    """Return the items of a HiFi-GAN-like dataset of both sides; segments without the two frames at each end."""
    ours.set_epoch(0)
    places = {Path(file).stem: i for i, file in enumerate(ours.audio_files)}

    def item(path: Path) -> Any:
        dataset, i = theirs(str(path)), places[path.stem]
        if split:
            utterance = ours.utterances[i]
            if len(utterance.audio) < SEGMENT:
                raise NotReadError("shorter than a segment")
            draws(
                type(dataset).__getitem__,
                "random",
                randint=lambda *_: ours._start(utterance, utterance.mel, 0, i) * 256,
            )
        return dataset[0]

    found = corpus.read(store, item)
    return found, {uid: ours[places[uid]] for uid in found}


def fields_of_files(items: tuple[Any, Any], frames: slice) -> tuple[Batch, ...]:
    numbers = {"mel": 0, "audio": 1, "mel of the loss": 3}
    return tuple(
        {
            name: [np.asarray(item[k])[..., frames if k != 1 else slice(None)] for item in side.values()]
            for name, k in numbers.items()
        }
        for side in items
    )


def one_file(dataset: Any, sizes: tuple[int, ...], split: bool, path: str) -> Any:
    return dataset([path], *sizes, split, n_cache_reuse=0)


def hifigan(corpus: Corpus) -> Compared:
    store = corpus.store("hifigan", "--frontend", "none", "--feature", "mel:preset=hifigan,fmax=11025")
    code = take(corpus.root / "hifi-gan/meldataset.py", *HIFIGAN, "MelDataset", load_wav=by_scipy)
    sizes = (SEGMENT, 1024, 80, 256, 1024, 22_050, 0, 8000)
    files = [str(store.path / f"{uid}.wav") for uid in store.id]
    for split, what, frames in ((False, "validation", slice(None)), (True, "segments", slice(2, -2))):
        ours = recipes.HiFiGANDataset(files, *sizes, split)
        make = functools.partial(one_file, code.MelDataset, sizes, split)
        items = of_files(corpus, store, make, ours, split)
        yield f"jik876/hifi-gan MelDataset, {what}", len(items[0]), *fields_of_files(items, frames)


def bigvgan(corpus: Corpus) -> Compared:
    def refuse(_: Any) -> int:
        raise NotReadError("another error")

    store = corpus.store("bigvgan-22k-80", "--frontend", "none")
    caches = ("mel_basis_cache", "hann_window_cache")
    code = take(
        corpus.root / "BigVGAN/meldataset.py", *HIFIGAN, *caches, "MelDataset", librosa=own_librosa(),
        tqdm=lambda x: x, pathlib=types.SimpleNamespace(Path=Path),
    )  # fmt: skip
    # It takes another recording at random where it fails.
    draws(code.MelDataset.__getitem__, "random", randrange=refuse)
    sizes = (SEGMENT, 1024, 80, 256, 1024, 22_050, 0, None)
    ours = recipes.BigVGANDataset([str(store.path / f"{uid}.wav") for uid in store.id], None, *sizes, False)
    found, made = of_files(corpus, store, lambda path: code.MelDataset([path], None, *sizes, split=False), ours, False)
    cut = {u.id for u in store if np.abs(u.waveform[: len(u.waveform) // 256 * 256]).max() < np.abs(u.waveform).max()}
    for what, ids in ((f"validation, {PEAK_CUT}", cut), ("validation", found.keys() - cut)):
        items = {uid: found[uid] for uid in found if uid in ids}, {uid: made[uid] for uid in found if uid in ids}
        yield f"NVIDIA/BigVGAN MelDataset, {what}", len(items[0]), *fields_of_files(items, slice(None, -2))


def vocos(corpus: Corpus) -> Compared:
    store = corpus.store("vocos", "--frontend", "none")

    def norm(y: torch.Tensor, rate: int, effects: Any) -> tuple[torch.Tensor, int]:
        if y.abs().max() > 1:
            raise NotReadError("above full scale, which sox clips")
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder) / "a.wav", Path(folder) / "b.wav"
            soundfile.write(before, y[0].numpy().astype(np.float32), rate, subtype="FLOAT")
            command = ["sox", str(before), "-e", "floating-point", "-b", "32", str(after), *effects[0]]
            subprocess.run(command, check=True, capture_output=True)
            return torch.from_numpy(soundfile.read(after)[0])[None], rate

    effects = types.SimpleNamespace(apply_effects_tensor=norm)
    audio = types.SimpleNamespace(load=AUDIO.load, functional=AUDIO.functional, sox_effects=effects)
    code = take(corpus.root / "vocos/vocos/dataset.py", "VocosDataset", torchaudio=audio, Dataset=object)
    one, all_files = corpus.folder / "one.txt", corpus.folder / "all.txt"
    all_files.write_text("".join(f"{store.path / uid}.wav\n" for uid in store.id))
    places = {uid: i for i, uid in enumerate(store.id)}

    def settings(path: Path) -> Any:
        return types.SimpleNamespace(filelist_path=path, sampling_rate=24_000, num_samples=16_384)

    def item(path: Path, ours: Any, train: bool) -> Any:
        i = places[path.stem]
        gain, start = ours.draw(i, len(ours.utterances[i].audio), 0)
        code.VocosDataset.__getitem__.__globals__["np"] = types.SimpleNamespace(
            random=types.SimpleNamespace(uniform=lambda *_: gain, randint=lambda **_: start)
        )
        one.write_text(f"{path}\n")
        return code.VocosDataset(settings(one), train)[0]

    for train, what in ((False, "validation"), (True, "training")):
        ours = recipes.VocosDataset(settings(all_files), train, peak="recording_peak")
        ours.set_epoch(0)
        found = corpus.read(store, lambda path: item(path, ours, train))  # noqa: B023
        a, b = list(found.values()), [ours[places[uid]] for uid in found]
        yield f"gemelo-ai/vocos VocosDataset, {what}", len(found), {"audio": a}, {"audio": b}


def vits(corpus: Corpus) -> Compared:
    store, root = corpus.store("vits", "--symbols", "vits", "--feature", "spectrogram"), corpus.root / "vits"
    codes = {symbol: number for number, symbol in enumerate(store.symbols)}
    code = take(
        root / "data_utils.py", "TextAudioLoader", "TextAudioCollate", commons=take(root / "commons.py", "intersperse"),
        spectrogram_torch=take(root / "mel_processing.py", "spectrogram_torch", "hann_window").spectrogram_torch,
        load_wav_to_torch=tensor_of_16_bits, cleaned_text_to_sequence=lambda text: [codes[symbol] for symbol in text],
        load_filepaths_and_text=take(root / "utils.py", "load_filepaths_and_text").load_filepaths_and_text,
    )  # fmt: skip
    settings = types.SimpleNamespace(
        text_cleaners=[], max_wav_value=32768.0, sampling_rate=22050, filter_length=1024, hop_length=256,
        win_length=1024, cleaned_text=True, add_blank=True,
    )  # fmt: skip
    texts = dict(zip(store.id, store.phoneme_text, strict=True))

    def loaded(module: Any, folder: Path, ids: Any) -> Any:
        path = corpus.write_list("list-vits.txt", folder, {uid: texts[uid] for uid in ids})
        dataset = module.TextAudioLoader(path, settings)
        return dataset if len(ids) == 1 else module.TextAudioCollate(True)([dataset[i] for i in range(len(ids))])

    ids = list(corpus.read(store, lambda path: loaded(code, corpus.wavs, [path.stem])[0]))
    batches = named(
        "text text_lengths spec spec_lengths wav wav_lengths ids",
        *(loaded(module, folder, ids) for module, folder in ((code, corpus.wavs), (recipes, store.path))),
    )
    yield "jaywalnut310/vits TextAudioLoader, TextAudioCollate", len(ids), *batches


def matcha(corpus: Corpus) -> Compared:
    store, root = corpus.store("matcha", "--symbols", "vits"), corpus.root / "Matcha-TTS/matcha"
    codes = {symbol: number for number, symbol in enumerate(store.symbols)}
    model = ("normalize", "fix_len_compatibility")
    code = take(
        root / "data/text_mel_datamodule.py", "parse_filelist", "TextMelDataset", "TextMelBatchCollate", ta=AUDIO,
        **only(take(root / "utils/audio.py", *HIFIGAN), "mel_spectrogram"),
        **only(take(root / "utils/model.py", *model), *model),
        **only(take(root / "utils/utils.py", "intersperse"), "intersperse"),
        text_to_sequence=lambda text, _: ([codes[symbol] for symbol in text], text),
    )  # fmt: skip
    texts = dict(zip(store.id, store.phoneme_text, strict=True))
    statistics = {"data_parameters": {"mel_mean": -5.536622, "mel_std": 2.116101}, "seed": 3}

    def loaded(module: Any, folder: Path, ids: Any) -> Any:
        path = corpus.write_list("list-matcha.txt", folder, {uid: texts[uid] for uid in ids})
        dataset = module.TextMelDataset(path, 1, [], **statistics)
        return dataset if len(ids) == 1 else module.TextMelBatchCollate(1)([dataset[i] for i in range(len(ids))])

    def item(path: Path) -> Any:
        if soundfile.info(path).channels > 1:
            raise NotReadError("two channels")
        return loaded(code, corpus.wavs, [path.stem])[0]

    ids = list(corpus.read(store, item))
    both = (loaded(module, folder, ids) for module, folder in ((code, corpus.wavs), (recipes, store.path)))
    names = ("x", "x_lengths", "y", "y_lengths")
    batches = [{name: batch[name] for name in names} for batch in both]
    yield "shivammehta25/Matcha-TTS TextMelDataset, TextMelBatchCollate", len(ids), *batches


def f5_tts(corpus: Corpus) -> Compared:
    store, root = corpus.store("f5-tts", "--frontend", "characters"), corpus.root / "F5-TTS/src/f5_tts/model"
    names = ("get_vocos_mel_spectrogram", "vocos_mel_stft_cache", "MelSpec")
    code = take(
        root / "dataset.py", "CustomDataset", "collate_fn", torchaudio=AUDIO, Dataset=object,
        MelSpec=take(root / "modules.py", *names, torchaudio=torchaudio(corpus.root)).MelSpec,
        default=lambda value, other: other if value is None else value,
    )  # fmt: skip
    texts = dict(zip(store.id, store.text, strict=True))

    def item(path: Path) -> Any:
        seconds = soundfile.info(path).duration
        if seconds < 0.3:
            raise NotReadError("shorter than 0.3 s")
        return code.CustomDataset([{"audio_path": str(path), "text": texts[path.stem], "duration": seconds}])[0]

    found = corpus.read(store, item)
    ours = recipes.F5TTSDataset(store)
    places = {uid: i for i, uid in enumerate(store.id)}
    both = code.collate_fn(list(found.values())), recipes.collate_f5tts([ours[places[uid]] for uid in found])
    batches = [{name: batch[name] for name in ("mel", "mel_lengths", "text_lengths")} for batch in both]
    yield "SWivid/F5-TTS CustomDataset, collate_fn", len(found), *batches


def styletts2(corpus: Corpus) -> Compared:
    texts = corpus.folder / "ood.txt"
    texts.write_text("Far away the evening light fell on the quiet water of the harbour.\n" * 3)
    store = corpus.store("styletts2", "--symbols", "styletts2", "--ood-texts", str(texts))
    ids = {uid: utterance.phonemes for uid, utterance in zip(store.id, store, strict=True)}
    code = take(
        corpus.root / "StyleTTS2/meldataset.py", "SPECT_PARAMS", "MEL_PARAMS", "to_mel", "mean", "preprocess",
        "FilePathDataset", "Collater", torchaudio=torchaudio(corpus.root), pd=pd, osp=os.path,
        librosa=own_librosa(), sf=types.SimpleNamespace(read=read_rounded),
        # The text of a line is its id, and the ids of the symbols are the store's; all others are of random texts.
        TextCleaner=lambda: lambda text: ids[text].tolist() if text in ids else [1],
    )  # fmt: skip

    def item(path: Path) -> Any:
        dataset = code.FilePathDataset([f"{path.name}|{path.stem}|0"], str(path.parent), OOD_data=str(texts))
        return dataset[0]

    found = corpus.read(store, item)
    ours = recipes.FilePathDataset(None, rows_of(store, found))
    # Recordings of equal length, whose order np.argsort leaves open, are in batches of one.
    made = [[code.Collater()([example]) for example in found.values()]]
    made.append([recipes.Collater()([ours[i]]) for i in range(len(found))])
    fields = {"wave": 0, "text": 1, "input_lengths": 2, "mel": 5, "output_lengths": 6}
    batches = [
        {name: [batch[k][0] if name == "wave" else batch[k] for batch in side] for name, k in fields.items()}
        for side in made
    ]
    yield "yl4579/StyleTTS2 FilePathDataset, Collater", len(found), *batches


def piper(corpus: Corpus) -> Compared:
    options = ("--symbols", "piper", "--blanks", "between", "--unknown", "drop", "--feature", "spectrogram")
    store, root = corpus.store("piper", *options), corpus.root / "piper1-gpl/src/piper"
    kinds = {"dataclass": record, "Enum": enum.Enum, "field": lambda default_factory: default_factory()}
    scales = ("DEFAULT_NOISE_SCALE", "DEFAULT_LENGTH_SCALE", "DEFAULT_NOISE_W_SCALE", "DEFAULT_HOP_LENGTH")
    config = take(root / "config.py", "PhonemeType", "PiperConfig", *scales, **kinds)
    classes = ("CachedUtterance", "DatasetType", "VitsDataModule", "VitsDataset", "UtteranceTensors", "Batch")
    spectrogram = take(root / "train/vits/mel_processing.py", "spectrogram_torch", "hann_window")
    code = take(
        root / "train/vits/dataset.py", *classes, "VAD_SAMPLE_RATE", "UtteranceCollate",
        L=types.SimpleNamespace(LightningDataModule=object), **kinds,
        **only(config, "PhonemeType", "PiperConfig"), DEFAULT_PHONEME_ID_MAP={}, default_phonemes_to_ids=None,
        EspeakPhonemizer=lambda: None, SileroVoiceActivityDetector=lambda: None, Path=Path, json=json,
        csv=csv, Dataset=object, FloatTensor=torch.DoubleTensor, LongTensor=torch.LongTensor,
        librosa=own_librosa(), get_cache_id=lambda row, *_, **__: str(row), _LOGGER=logging.getLogger(),
        spectrogram_torch=spectrogram.spectrogram_torch,
        random_split=lambda dataset, sizes: (dataset, None, None),
    )  # fmt: skip
    phonemes = {uid: utterance.phonemes for uid, utterance in zip(store.id, store, strict=True)}

    def item(path: Path) -> Any:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            listed = folder / "list.csv"
            listed.write_text(f"{path.name}|Text.|{' '.join(map(str, phonemes[path.stem].tolist()))}\n")
            module = code.VitsDataModule(
                listed, folder / "cache", "en-us", folder / "config.json", "voice", audio_dir=path.parent,
                trim_silence=False, dataset_type="phoneme_ids",
            )  # fmt: skip
            module.prepare_data()
            module.setup("fit")
            return module.train_dataset[0]

    found = corpus.read(store, item)
    ours = recipes.PiperDataset(rows_of(store, found))
    both = (
        collate(False, SEGMENT)(items)
        for collate, items in (
            (code.UtteranceCollate, list(found.values())),
            (recipes.PiperCollate, [ours[i] for i in range(len(found))]),
        )
    )
    names = ("phoneme_ids", "phoneme_lengths", "spectrograms", "spectrogram_lengths", "audios", "audio_lengths")
    batches = [{name: getattr(batch, name) for name in names} for batch in both]
    yield "OHF-Voice/piper1-gpl VitsDataModule, UtteranceCollate", len(found), *batches


def fastpitch(corpus: Corpus) -> Compared:
    store = corpus.store("fastpitch", "--frontend", "characters", "--feature", "pitch:algorithm=pyin")
    root = corpus.root / "DeepLearningExamples/PyTorch/SpeechSynthesis/FastPitch"
    folder = root / "common"
    compression = only(take(folder / "audio_processing.py"), "dynamic_range_compression", "dynamic_range_decompression")
    numpy = types.SimpleNamespace(**{**vars(np), "linalg": types.SimpleNamespace(pinv=np.transpose)})
    stft = take(folder / "stft.py", "STFT", np=numpy).STFT
    layers = take(folder / "layers.py", "TacotronSTFT", STFT=stft, **compression)
    phonemes = {uid: utterance.phonemes for uid, utterance in zip(store.id, store, strict=True)}
    code = take(
        root / "fastpitch/data_function.py", layers=layers,
        librosa=own_librosa(), load_wav_to_torch=tensor_of_16_bits, ndimage=scipy.ndimage, Path=Path,
        betabinom=scipy.stats.betabinom, functools=functools,
        get_text_processing=lambda *_: types.SimpleNamespace(encode_text=lambda text: [1, 1, 1]),
        load_filepaths_and_text=lambda *_, **__: [["", ""]],
    )  # fmt: skip
    dataset = code.TTSDataset(
        "", "", [], 80, p_arpabet=0.0, load_mel_from_disk=False, load_pitch_from_disk=False, max_wav_value=32768.0,
        sampling_rate=22050, filter_length=1024, hop_length=256, win_length=1024, mel_fmin=0.0, mel_fmax=8000.0,
    )  # fmt: skip

    def item(path: Path) -> Any:
        dataset.audiopaths_and_text = [[str(path), ""]]
        dataset.get_text = lambda _: torch.LongTensor(phonemes[path.stem].tolist())
        return dataset[0]

    found = corpus.read(store, item)
    # Texts of equal length, whose order torch.sort leaves open, are in batches of one.
    made: list[list[Any]] = [[], []]
    for uid, example in found.items():
        made[0].append(code.TTSCollate()([example]))
        made[1].append(recipes.TTSCollate()(rows_of(store, [uid])))
    names = {"text": 0, "mel": 2, "pitch": 5, "energy": 6, "attn_prior": 8}
    fields = ("text", "input_lengths", "mel", "output_lengths", "len_x", "pitch", "energy", "speaker", "attn_prior")
    batches = [{name: [batch[fields.index(name)] for batch in side] for name in names} for side in made]
    yield "NVIDIA/DeepLearningExamples FastPitch TTSDataset, TTSCollate", len(found), *batches


def parakeet(corpus: Corpus) -> Compared:
    store, root = corpus.store("parakeet", "--frontend", "arpabet"), corpus.root / "Parakeet"
    at = root / "parakeet/audio"
    processor = take(at / "audio.py", librosa=own_librosa()).AudioProcessor(22050, 1024, 1024, 256, fmax=8000)
    log = take(at / "spec_normalizer.py").LogMagnitude()
    batch = only(take(root / "parakeet/data/batch.py"), "batch_text_id", "batch_spec")
    # They returned no lengths when this example was written.
    batch = {name: lambda *given, f=function, **more: f(*given, **more)[0] for name, function in batch.items()}
    code = take(root / "examples/transformer_tts/ljspeech.py", "LJSpeechCollector", **batch)
    phonemes = {uid: utterance.phonemes for uid, utterance in zip(store.id, store, strict=True)}

    def item(path: Path) -> Any:
        # The loop of its preprocess.py, without the frames that its Transform puts before and behind.
        mel = log.transform(processor.mel_spectrogram(processor.read_wav(path)))
        return phonemes[path.stem], mel, recipes.stop_probabilities(mel.shape[1])

    found = corpus.read(store, item)
    both = code.LJSpeechCollector()(list(found.values())), recipes.LJSpeechCollector()(rows_of(store, found))
    name = "PaddlePaddle/Parakeet@0327874 examples/transformer_tts preprocess.py, LJSpeechCollector"
    yield name, len(found), *named("text mel stop", *both)


def wavenet(corpus: Corpus) -> Compared:
    store, root = corpus.store("parakeet-wavenet", "--frontend", "none"), corpus.root / "Parakeet"
    batch = only(take(root / "parakeet/data/batch.py"), "batch_wav", "batch_spec")
    batch = {name: lambda *given, f=function, **more: f(*given, **more)[0] for name, function in batch.items()}
    code = take(root / "examples/wavenet/data.py", "Transform", "DataCollector", **{**batch, "librosa": own_librosa()})
    transform = code.Transform(22_050, 2048, 1024, 256, 80)
    found = corpus.read(store, lambda path: transform((path, "", "")))
    given = {"context_size": 2048, "sample_rate": 22_050, "hop_length": 256, "train_clip_seconds": 0.5, "valid": True}
    both = (
        code.DataCollector(**given)(list(found.values())),
        recipes.DataCollector(**given)(rows_of(store, found)),
    )
    name = "PaddlePaddle/Parakeet@384d093 examples/wavenet Transform, DataCollector"
    yield name, len(found), *named("audio mel start", *both)


def speechain(corpus: Corpus) -> Compared:
    pitch = "pitch:unvoiced=interpolated,floor=80,ceiling=400"
    store = corpus.store("speechain-tts", "--frontend", "characters", "--feature", pitch)
    at = corpus.root / "SpeeChain/speechain"
    reading = take(at / "utilbox/data_loading_util.py", sf=soundfile, parse_path_args=str, json=json)
    code = take(
        at / "dataset/speech_text.py", "SpeechTextDataset", torchaudio=AUDIO, partial=functools.partial,
        Dataset=take(at / "dataset/abs.py", "Dataset", ABC=object, **vars(reading)).Dataset,
        read_data_by_path=reading.read_data_by_path,
        convert_wav_to_pitch=take(
            at / "utilbox/feat_util.py", "convert_wav_to_pitch", pyworld=pyworld, interp1d=scipy.interpolate.interp1d,
            to_native=take(at / "utilbox/tensor_util.py", "to_native").to_native,
        ).convert_wav_to_pitch,
    )  # fmt: skip
    spectrogram = {preset: mel for preset, _, mel in sources(corpus.root)}["speechain-tts"]()
    write, written = speechain_script(corpus.root), corpus.folder / "written"
    rng, tokens = np.random.default_rng(46), ("<space>", "HH", "AH0", "L")
    texts = {uid: ["<space>", *rng.choice(tokens, 6), "L", "<space>"] for uid in store.id}
    lines = {
        "text": {uid: repr([str(token) for token in text]) for uid, text in texts.items()},
        "duration": {uid: repr([f"{x:.2f}" for x in rng.uniform(0.01, 0.3, len(text))]) for uid, text in texts.items()},
    }

    def listed(side: str, values: dict[str, dict[str, str]]) -> dict[str, str]:
        """Write files of ids and values, and return their paths by field."""
        paths = {name: corpus.folder / f"{side}-idx2{name}" for name in values}
        for name, path in paths.items():
            path.write_text("".join(f"{uid} {value}\n" for uid, value in values[name].items()))
        return {name: str(path) for name, path in paths.items()}

    def item(path: Path) -> Any:
        values = {name: {path.stem: value[path.stem]} for name, value in lines.items()}
        paths = listed("theirs", {"feat": {path.stem: str(write(path, written))}, **values})
        # None without a voiced frame: its collate function leaves that out.
        return code.SpeechTextDataset(paths, sample_rate=22_050, pitch_conf={"hop_length": 256})[path.stem]

    def batches(values: dict[str, dict[str, str]], size: int, **more: Any) -> Any:
        conf = {"main_data": listed("ours", values), "sample_rate": 22_050, **more}
        conf = {"dataset_type": "speech_text.SpeechTextDataset", "dataset_conf": conf, "batch_size": size}
        config = {"type": "abs.Iterator", "conf": {**conf, "shuffle": False}}
        (loader,) = recipes.build_iterators({"test": config})["test"].loaders.values()
        orders = ([loader.dataset.ids[i] for i in batch] for batch in loader.sampler.order(0))
        return list(zip(orders, loader, strict=True))

    found = corpus.read(store, item)
    places = {uid: f"{store.path}:{i}" for i, uid in enumerate(store.id)}
    samples = {uid: soundfile.read(written / f"wav/{uid}.wav", dtype="float32")[0] for uid in found}
    other = {uid for uid in found if not np.array_equal(samples[uid], store[store.id.index(uid)].audio)}
    for what, ids in ((f", {LAST_BIT}", other), ("", found.keys() - other)):
        values = {name: {uid: value[uid] for uid in ids} for name, value in lines.items()}
        waveforms = {uid: f"{places[uid]}:waveform" for uid in ids}
        ((order, ours),) = batches({"feat": waveforms, **values}, len(ids), pitch_conf={"hop_length": 256})
        theirs = object.__new__(code.SpeechTextDataset).collate_fn([found[uid] for uid in order])
        # Its model makes the mels: in batches of one, since there is no reflection before the padding of others.
        mels = batches({"feat": {uid: places[uid] for uid in ids}}, 1)
        both = (
            {**theirs, "mel": [spectrogram(samples[uid]).T for (uid,), _ in mels]},
            {**ours, "mel": [batch["feat"][0] for _, batch in mels]},
        )
        for side in both:
            side["text"] = [[tokens.index(token) for token in text] for text in side["text"]]
        yield f"heli-qi/SpeeChain wave_downsampler.py, SpeechTextDataset, Speech2MelSpec{what}", len(ids), *both


RECIPES: dict[str, Callable[[Corpus], Compared]] = {
    "hifigan": hifigan, "bigvgan": bigvgan, "vocos": vocos, "vits": vits, "matcha": matcha, "f5-tts": f5_tts,
    "styletts2": styletts2, "piper": piper, "fastpitch": fastpitch, "parakeet": parakeet, "parakeet-wavenet": wavenet,
    "speechain": speechain,
}  # fmt: skip

PEAK_CUT = "the peak in the samples behind the last frame"
LAST_BIT = "another last bit"
CAUSES = {
    PEAK_CUT: "`peak`: the original scales what it has cut, the recipe the mel, and with it 1e-9 under the root",
    LAST_BIT: "`written`: another last bit of 16, where float32 had another one before",
}
"""Why a row differs by more than 2e-6: a part of its name, the setting, and what of it."""

RELATIVE = ("spec", "spectrograms", "pitch", "energy")
"""The fields that are no logarithms: differences of values above 1 are relative to them."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare recipes with their sources from the file on.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("clips", type=Path, nargs="*")
    parser.add_argument("--only", nargs="*", default=list(RECIPES))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    rows = []
    for recipe in options.only:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "wavs").mkdir()
            corpus = Corpus(options.checkouts, make_recordings(folder / "wavs", options.clips), folder)
            for source, count, theirs, ours in RECIPES[recipe](corpus):
                found = {name: difference(theirs[name], ours[name], name in RELATIVE) for name in theirs}
                cause = next((cause for part, cause in CAUSES.items() if part in source), "")
                row = {"recipe": recipe, "source": source, "compared": count, "fields": found, "cause": cause}
                rows.append({**row, "not_read": dict(corpus.not_read)})
                shown = {name: f"{value:.1e}" for name, value in found.items()}
                print(recipe, source, count, shown, dict(corpus.not_read), flush=True)
    if options.write:
        options.write.write_text(json.dumps({"recordings": 100, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
