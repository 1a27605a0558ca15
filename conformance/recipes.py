"""Compare the recipes with the datasets and collate functions that they stand for, on the same recordings.

    git clone https://github.com/jik876/hifi-gan …
    python conformance/recipes.py --corpus LJSPEECH --sources FOLDER [--only hifigan,vits]

FOLDER has the checkouts ``hifi-gan``, ``BigVGAN``, ``vocos``, ``vits``, ``Matcha-TTS`` and ``F5-TTS``. Needed besides
this project: torch, torchaudio with soundfile, what the checkouts import, and the program ``sox``, which does for Vocos
what torchaudio did with its library. Where an original draws at random, it is given the draw of ours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import espeakng_loader
import torch
from phonemizer.backend.espeak.wrapper import EspeakWrapper

from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.recipes import collate_hifigan

ROWS: list[tuple[str, ...]] = []


def make_store(corpus, path, preset, text=TextConfig(), **sizes):
    described = get_preset(preset)
    if not (path / "manifest.json").is_file():
        mel = replace(described.config, **sizes)
        store = StoreConfig(waveform_dtype="float32")
        configuration = Configuration(mel=mel, reading=described.reading, text=text, store=store)
        prepare(read_ljspeech(corpus), corpus, path, configuration)
    return path


def describe(value):
    if isinstance(value, torch.Tensor):
        return f"{list(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, list | tuple) and value and not isinstance(value[0], str):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def compare(recipe, field, theirs, ours, inner=None):
    """Add a row: shape and dtype of both, and the largest difference, of all and of the frames within a segment."""
    same = describe(theirs) == describe(ours)
    if isinstance(theirs, torch.Tensor) and same:
        distance = (theirs.double() - ours.double()).abs()
        difference = f"{float(distance.max()) if distance.numel() else 0:.2g}"
        if inner is not None:
            difference += f"; {float(distance[..., inner].max()):.2g} but for the two frames at each end"
    else:
        difference = "equal" if same and theirs == ours else "DIFFERENT"
    ROWS.append((recipe, field, describe(theirs), describe(ours) if not same else "the same", difference))


def load(folder, name):
    """Import a module of a checkout, beside nothing of the other checkouts."""
    for known in (
        "dataset",
        "meldataset",
        "env",
        "commons",
        "utils",
        "text",
        "mel_processing",
        "data_utils",
        "modules",
    ):
        for module in [module for module in sys.modules if module == known or module.startswith(f"{known}.")]:
            del sys.modules[module]
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def older_torch():
    """Return torch as it was when HiFi-GAN and VITS were written: its stft gave real numbers."""

    def stft(*given, **named):
        return torch.view_as_real(torch.stft(*given, **named, return_complex=True))

    return SimpleNamespace(**{**vars(torch), "stft": stft})


def by_name(mel):
    """Return librosa's filter bank as it was then: its arguments could be given by position."""

    def called(*given, **named):
        return mel(**dict(zip(("sr", "n_fft", "n_mels", "fmin", "fmax"), given, strict=False)), **named)

    return called


class Drawn:
    """Python's generator as an original uses it, with the next place given."""

    def __init__(self, place):
        self.place = place

    def randint(self, low, high):
        assert low <= self.place <= high, (low, self.place, high)
        return self.place

    def __getattr__(self, name):
        return getattr(random, name)


class Given:
    """numpy's generator as Vocos uses it, with what it draws given."""

    def __init__(self, gain, start):
        self.gain, self.start = gain, start

    def uniform(self, high, low):
        assert low <= self.gain <= high
        return self.gain

    def randint(self, low, high):
        assert low <= self.start < high
        return self.start


def write_list(path, folder, texts, speakers):
    lines = [
        f"{folder / name}.wav|{f'{k % 3}|' if speakers else ''}{text}\n" for k, (name, text) in enumerate(texts.items())
    ]
    path.write_text("".join(lines), encoding="utf-8")


def names(corpus):
    return [line.split("|")[0] for line in (corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()]


def vocoder(recipe, folder, corpus, scratch, preset, our_dataset, extra):
    mel = get_preset(preset).config
    store = make_store(corpus, scratch / preset, preset)
    nyquist = mel.sample_rate / 2
    if mel.fmax != nyquist:
        make_store(corpus, scratch / f"{preset}-loss", preset, fmax=nyquist)
    theirs_module = load(folder, "meldataset")
    if hasattr(theirs_module, "librosa_mel_fn"):
        theirs_module.librosa_mel_fn = by_name(theirs_module.librosa_mel_fn)
    if not recipe.startswith("BigVGAN"):
        theirs_module.torch = older_torch()
    size = (32 * mel.hop_length, mel.n_fft, mel.n_mels, mel.hop_length, mel.win_length, mel.sample_rate, 0, mel.fmax)
    settings = {"fmax_loss": None}
    for split in (True, False):
        files = [str(store / f"{name}.wav") for name in names(corpus)]
        wavs = [str(corpus / "wavs" / f"{name}.wav") for name in names(corpus)]
        ours = our_dataset(files, *extra, *size, split, **settings)
        theirs = theirs_module.MelDataset(
            list(wavs), *extra, *size, split, **settings, **({"n_cache_reuse": 0} if not extra else {})
        )
        assert [Path(f).stem for f in ours.audio_files] == [Path(f).stem for f in theirs.audio_files]
        pairs = []
        for i in range(len(ours)):
            mine = ours[i]
            if split:
                start = ours._start(ours.utterances[i], ours.utterances[i].mel, None, i) * mel.hop_length
                theirs_module.random = Drawn(start)
            pairs.append((theirs[i], mine))
        what = "segment" if split else "validation"
        if split:
            batches = [torch.utils.data.default_collate([pair[side] for pair in pairs]) for side in (0, 1)]
            batches[1] = collate_hifigan([pair[1] for pair in pairs])
            batches[0][2] = batches[1][2]
            for field, a, b in zip(("mel", "audio", "filename", "mel_loss"), *batches, strict=True):
                compare(recipe, f"{what} {field}", a, b, slice(2, -2) if "mel" in field else None)
        else:
            for k, field in ((0, "mel"), (1, "audio"), (3, "mel_loss")):
                # BigVGAN cuts a recording to whole frames before its mel, so that the last two see a reflection.
                kept = slice(None, -2) if extra and "mel" in field else slice(None)
                a, b = (torch.cat([pair[side][k][..., kept].flatten() for pair in pairs]) for side in (0, 1))
                assert all(pair[0][k].shape == pair[1][k].shape for pair in pairs), field
                last = ", but for the last two frames" if extra and "mel" in field else ""
                compare(recipe, f"{what} {field}, all recordings{last}", a, b)


def hifigan(sources, corpus, scratch):
    from tts_prep.recipes import HiFiGANDataset

    vocoder("HiFi-GAN", sources / "hifi-gan", corpus, scratch, "hifigan", HiFiGANDataset, ())


def bigvgan(sources, corpus, scratch):
    from tts_prep.recipes import BigVGANDataset

    vocoder("BigVGAN", sources / "BigVGAN", corpus, scratch, "bigvgan-22k-80", BigVGANDataset, (None,))


def vocos(sources, corpus, scratch):
    from tts_prep.recipes import VocosDataset

    store = make_store(corpus, scratch / "vocos", "vocos", sample_rate=22050, fmax=11025.0)
    theirs_module = load(sources / "vocos" / "vocos", "dataset")
    ours_list, theirs_list = scratch / "vocos.ours", scratch / "vocos.theirs"
    ours_list.write_text("".join(f"{store / name}.wav\n" for name in names(corpus)), encoding="utf-8")
    theirs_list.write_text("".join(f"{corpus / 'wavs' / name}.wav\n" for name in names(corpus)), encoding="utf-8")

    def norm(y, rate, effects):
        """Let the program do what torchaudio's library does where it has it."""
        with tempfile.TemporaryDirectory() as folder:
            import soundfile

            before, after = Path(folder) / "a.wav", Path(folder) / "b.wav"
            soundfile.write(before, y[0].numpy(), rate, subtype="FLOAT")
            command = ["sox", str(before), "-e", "floating-point", "-b", "32", str(after), *effects[0]]
            subprocess.run(command, check=True)
            return torch.from_numpy(soundfile.read(after, dtype="float32")[0])[None], rate

    theirs_module.torchaudio = SimpleNamespace(
        load=theirs_module.torchaudio.load,
        functional=theirs_module.torchaudio.functional,
        sox_effects=SimpleNamespace(apply_effects_tensor=norm),
    )
    for train, length in ((True, 16384), (False, 16384), (True, 400_000)):
        settings = {"sampling_rate": 22050, "num_samples": length, "batch_size": 1, "num_workers": 0}
        ours = VocosDataset(SimpleNamespace(filelist_path=ours_list, **settings), train)
        theirs = theirs_module.VocosDataset(SimpleNamespace(filelist_path=theirs_list, **settings), train)
        rows = []
        for i in range(len(ours)):
            gain, start = ours.draw(i, len(ours.utterances[i].audio))
            theirs_module.np = SimpleNamespace(random=Given(gain, start))
            rows.append((theirs[i], ours[i]))
        field = f"{'training' if train else 'validation'}, {length:,} samples"
        compare("Vocos", field, torch.stack([a for a, _ in rows]), torch.stack([b for _, b in rows]))


def vits(sources, corpus, scratch):
    from tts_prep import recipes as ours_module
    from tts_prep.loader import UtteranceDataset

    store = make_store(corpus, scratch / "vits", "hifigan-unscaled")
    dataset = UtteranceDataset(store)
    folder = sources / "vits"
    wavs = scratch / "vits-wavs"
    wavs.mkdir(exist_ok=True)
    for name in names(corpus):
        if not (wavs / f"{name}.wav").exists():
            (wavs / f"{name}.wav").symlink_to(corpus / "wavs" / f"{name}.wav")
    texts = dict(zip(dataset.id, dataset.phoneme_text, strict=True))
    code = {symbol: number for number, symbol in enumerate(dataset.symbols)}
    data = {
        "text_cleaners": [], "max_wav_value": 32768.0, "sampling_rate": 22050, "filter_length": 1024, "hop_length": 256,
        "win_length": 1024, "cleaned_text": True, "add_blank": True,
    }  # fmt: skip
    for speakers in (False, True):
        lists = []
        for side, place in (("ours", store), ("theirs", wavs)):
            path = scratch / f"vits.{side}"
            write_list(path, place, texts, speakers)
            lists.append(path)
        for needed in ("text", "text.cleaners", "text.symbols"):
            sys.modules.pop(needed, None)
        theirs_module = load(folder, "data_utils")
        # The symbols of the store instead of its own: what is compared is the loader.
        theirs_module.cleaned_text_to_sequence = lambda text: [code[symbol] for symbol in text]
        sys.modules["mel_processing"].torch = older_torch()
        kind = "TextAudioSpeaker" if speakers else "TextAudio"
        settings = SimpleNamespace(**data)
        theirs = getattr(theirs_module, f"{kind}Loader")(str(lists[1]), settings)
        ours = getattr(ours_module, f"{kind}Loader")(lists[0], settings)
        assert ours.lengths == theirs.lengths, "lengths"
        a = getattr(theirs_module, f"{kind}Collate")(return_ids=True)([theirs[i] for i in range(len(theirs))])
        b = getattr(ours_module, f"{kind}Collate")(return_ids=True)([ours[i] for i in range(len(ours))])
        fields = [
            "text",
            "text_lengths",
            "spec",
            "spec_lengths",
            "wav",
            "wav_lengths",
            *(["sid"] if speakers else []),
            "ids",
        ]
        for field, one, other in zip(fields, a, b, strict=True):
            compare(f"VITS {kind}", field, one, other)
        for file in wavs.glob("*.spec.pt"):
            file.unlink()
    commons = load(folder, "commons")
    x = torch.randn(4, 3, 50)
    lengths = torch.tensor([50, 40, 30, 20])
    torch.manual_seed(0)
    a = commons.rand_slice_segments(x, lengths, 8)
    torch.manual_seed(0)
    b = ours_module.rand_slice_segments(x, lengths, 8)
    compare("VITS rand_slice_segments", "segments", a[0], b[0])
    compare("VITS rand_slice_segments", "ids", a[1], b[1])


def matcha(sources, corpus, scratch):
    from tts_prep import recipes as ours_module
    from tts_prep.loader import UtteranceDataset

    store = make_store(corpus, scratch / "matcha", "matcha")
    dataset = UtteranceDataset(store)
    texts = dict(zip(dataset.id, dataset.phoneme_text, strict=True))
    code = {symbol: number for number, symbol in enumerate(dataset.symbols)}
    # Its text needs espeak-ng, though none of it is used here.
    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    theirs_module = load(sources / "Matcha-TTS", "matcha.data.text_mel_datamodule")
    theirs_module.text_to_sequence = lambda text, _: ([code[symbol] for symbol in text], text)
    for n_spks in (1, 3):
        lists = []
        for side, place in (("ours", store), ("theirs", corpus / "wavs")):
            path = scratch / f"matcha.{side}"
            write_list(path, place, texts, n_spks > 1)
            lists.append(path)
        statistics = {"mel_mean": -5.536622, "mel_std": 2.116101}
        a, b = (
            module.TextMelDataset(str(path), n_spks, [], data_parameters=statistics, seed=3)
            for module, path in ((theirs_module, lists[1]), (ours_module, lists[0]))
        )
        batches = [
            module.TextMelBatchCollate(n_spks)([side[i] for i in range(len(side))])
            for module, side in ((theirs_module, a), (ours_module, b))
        ]
        assert list(batches[0]) == list(batches[1]), "names"
        batches[0]["filepaths"] = [str(store / Path(path).name) for path in batches[0]["filepaths"]]
        for field in batches[0]:
            compare(f"Matcha-TTS, n_spks={n_spks}", field, batches[0][field], batches[1][field])
    compare("Matcha-TTS", "example x", a[0]["x"], b[0]["x"])
    compare("Matcha-TTS", "example y", a[0]["y"], b[0]["y"])


def piper(sources, corpus, scratch):
    from piper.train.vits.dataset import UtteranceCollate, VitsDataModule

    from tts_prep.export import export
    from tts_prep.recipes import PiperCollate, PiperDataset

    store = make_store(corpus, scratch / "piper", "piper", text=TextConfig(symbols="piper", blanks="between"))
    export(store, "piper", scratch / "piper-list")
    module = VitsDataModule(
        csv_path=scratch / "piper-list" / "metadata.csv",
        audio_dir=corpus / "wavs",
        cache_dir=scratch / "piper-cache",
        config_path=scratch / "piper.json",
        espeak_voice="en-us",
        voice_name="voice",
        dataset_type="phoneme_ids",
        trim_silence=False,
        num_workers=0,
    )
    module.prepare_data()
    module.setup("fit")
    theirs, ours = module.train_dataset.dataset, PiperDataset(store)
    for size, segment in ((20, 8192), (2, 400_000)):
        a, b = (
            collate(False, segment)([side[i] for i in range(size)])
            for collate, side in ((UtteranceCollate, theirs), (PiperCollate, ours))
        )
        for field in vars(a):
            compare(f"Piper, {segment:,} samples", field, getattr(a, field), getattr(b, field))


def f5tts(sources, corpus, scratch):
    from tts_prep.loader import UtteranceDataset
    from tts_prep.recipes import DynamicBatchSampler, F5TTSDataset, collate_f5tts

    store = make_store(corpus, scratch / "vocos", "vocos", sample_rate=22050, fmax=11025.0)
    dataset = UtteranceDataset(store)
    theirs_module = load(sources / "F5-TTS" / "src", "f5_tts.model.dataset")
    rows = [
        {"audio_path": str(corpus / "wavs" / f"{uid}.wav"), "text": text, "duration": float(seconds)}
        for uid, text, seconds in zip(dataset.id, dataset.text, dataset.seconds, strict=True)
    ]
    theirs = theirs_module.CustomDataset(rows, target_sample_rate=22050)
    ours = F5TTSDataset(store, target_sample_rate=22050)
    batches = [
        collate([side[i] for i in range(len(side))])
        for collate, side in ((theirs_module.collate_fn, theirs), (collate_f5tts, ours))
    ]
    assert list(batches[0]) == list(batches[1]), "names"
    for field in batches[0]:
        compare("F5-TTS", field, batches[0][field], batches[1][field])
    sampler = [
        make(torch.utils.data.SequentialSampler(side), 2000, max_samples=4, random_seed=1)
        for make, side in ((theirs_module.DynamicBatchSampler, theirs), (DynamicBatchSampler, ours))
    ]
    compare("F5-TTS DynamicBatchSampler", "batches", sampler[0].batches, sampler[1].batches)


RECIPES: dict[str, Any] = {
    "hifigan": hifigan, "bigvgan": bigvgan, "vocos": vocos, "vits": vits, "matcha": matcha, "piper": piper,
    "f5tts": f5tts,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--only", default=",".join(RECIPES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = options.scratch or Path(folder)
        scratch.mkdir(parents=True, exist_ok=True)
        for name in options.only.split(","):
            RECIPES[name](options.sources.resolve(), options.corpus.resolve(), scratch.resolve())
    if options.json:
        print(json.dumps(ROWS, indent=1))
        return
    print("| recipe | field | source | here | largest difference |\n| --- | --- | --- | --- | --- |")
    for row in ROWS:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
