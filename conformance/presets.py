"""Compare every preset with the code that it is named after, and print a markdown table.

    python conformance/presets.py CHECKOUTS CLIPS... --write docs/presets-compared.json

CHECKOUTS is a folder with a checkout of each source under the name of its repository; ``--list`` prints the sources.
CLIPS are recordings. The environment needs torch, librosa, PyYAML and what tts-prep itself needs.

Only the functions and classes that make a mel are taken out of the files of a source, and run as they stand, but in
float64: ``float32``, ``.float()`` and ``FloatTensor`` are read as their double counterparts. What they import is passed
to them by name, so that no source has to be installed. Arguments are read from the sources' own configuration files
where these are data. Both sides get the same float32 samples, resampled to the rate of the preset.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import logging
import math
import os
import random
import re
import tempfile
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import scipy.signal
import soundfile
import soxr
import torch
import yaml

from tts_prep.preprocess.audio.config import Compression, MelConfig
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.vocoders.systems import read_vocoder_config

Mel = Callable[[np.ndarray], Any]


class Widen(ast.NodeTransformer):
    """Read single precision as double, and leave decorators and moves to a GPU out."""

    WIDER: typing.ClassVar = {
        "float32": "float64", "complex64": "complex128", "FloatTensor": "DoubleTensor", "float": "double"
    }  # fmt: skip

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.WIDER.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [d for d in node.decorator_list if getattr(d, "id", "") in ("property", "staticmethod")]
        return self.generic_visit(node)


class OldTorch:
    """Torch, with the real result that its transform had where complex ones were not asked for."""

    Tensor = torch.Tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def stft(*args: Any, return_complex: bool = False, **kwargs: Any) -> torch.Tensor:
        found = torch.stft(*args, return_complex=True, **kwargs)
        return found if return_complex else torch.view_as_real(found)


def mel_filters(sr: int, n_fft: int, n_mels: int = 128, fmin: float = 0.0, fmax: float | None = None, **kwargs: Any):
    """Return librosa's filter bank; its arguments could once be given by position."""
    return librosa.filters.mel(sr=sr, n_fft=n_fft, n_mels=n_mels, fmin=fmin, fmax=fmax, **kwargs)


def pad_center(data: np.ndarray, size: int) -> np.ndarray:
    return librosa.util.pad_center(data, size=size)


class Recording:
    """A waveform in the place of a file: what a source reads is these samples, float64."""

    def __init__(self) -> None:
        self.samples, self.rate = np.zeros(0), 0

    def load(self, *_: Any, **__: Any) -> tuple[np.ndarray, int]:
        return self.samples.astype(np.float64), self.rate

    def integers(self, *_: Any) -> tuple[np.ndarray, int]:
        return self.samples.astype(np.float64) * 32768.0, self.rate


RECORDING = Recording()


def library() -> types.SimpleNamespace:
    filters = types.SimpleNamespace(mel=mel_filters)
    core = types.SimpleNamespace(stft=librosa.stft)
    return types.SimpleNamespace(
        filters=filters, core=core, stft=librosa.stft, util=librosa.util, load=RECORDING.load, resample=librosa.resample
    )


def take(path: Path, *names: str, wide: bool = True, **given: Any) -> types.SimpleNamespace:
    """Run the named functions, classes, methods (``Class.method``) and assignments of a file.

    Args:
        names: what to take; all functions and classes where there is none.
        wide: in float64; False leaves the code as it is.
        given: what the code finds under these names, beside those of every source.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kept = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            kept += [part for part in node.body if f"{node.name}.{getattr(part, 'name', '')}" in names]
        named = [getattr(node, "name", None)]
        if isinstance(node, ast.Assign):
            named = [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        if isinstance(node, ast.AnnAssign):
            named = [getattr(node.target, "id", None)]
        if any(name in names for name in named) or (not names and isinstance(node, ast.FunctionDef | ast.ClassDef)):
            kept.append(node)
    module = ast.Module(kept, [])
    if wide:
        module = ast.fix_missing_locations(Widen().visit(module))
    space: dict[str, Any] = {
        **vars(typing),
        "F": torch.nn.functional, "Tensor": torch.Tensor, "librosa": library(), "librosa_mel_fn": mel_filters,
        "logging": logging, "math": math, "nn": torch.nn, "normalize": librosa.util.normalize, "np": np, "os": os,
        "random": random, "torch": OldTorch(), "warnings": warnings, "__file__": str(path), "__name__": path.stem,
        "MAX_WAV_VALUE": 32768.0, "get_window": scipy.signal.get_window, "pad_center": pad_center,
        "Variable": lambda x, **_: x, "load_wav": RECORDING.integers, "lru_cache": functools.lru_cache,
        **given,
    }  # fmt: skip
    # Annotations are not evaluated: they name types of libraries that are not here.
    exec(compile(module, str(path), "exec", flags=__import__("__future__").annotations.compiler_flag), space)
    return types.SimpleNamespace(**space)


def only(code: types.SimpleNamespace, *names: str) -> dict[str, Any]:
    return {name: getattr(code, name) for name in names}


def record(kind: Any) -> Any:
    """Return a class with the fields of a dataclass, which is of no module here."""

    def start(self: Any, *given: Any, **named: Any) -> None:
        vars(self).update(zip(kind.__annotations__, given, strict=False), **named)

    kind.__init__ = start
    return kind


def draws(function: Any, name: str, **given: Any) -> None:
    """Put draws that are given in the place of a source's generator, which its function has under a name."""
    function.__globals__[name] = types.SimpleNamespace(**{**vars(random), **given})


def difference(theirs: Any, ours: Any, relative: bool) -> float:
    """Return the largest difference of two arrays, or of two lists of them, of equal shapes.

    Args:
        relative: differences of values above 1 are relative to them.
    """
    if isinstance(theirs, list):
        return max(difference(a, b, relative) for a, b in zip(theirs, ours, strict=True))
    a, b = np.asarray(theirs, np.float64), np.asarray(ours, np.float64)
    if a.shape != b.shape:
        raise ValueError(f"the shape is {a.shape} there and {b.shape} here")
    return float((np.abs(a - b) / (np.maximum(np.abs(a), 1) if relative else 1)).max(initial=0))


def tensor(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x, np.float64))[None]


def tagged_yaml(path: Path) -> Any:
    """Read YAML whose tags name code: a tagged mapping is a mapping, a reference the value that it refers to."""

    class Loader(yaml.SafeLoader):
        pass

    def construct(loader: Any, _: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        return loader.construct_sequence(node) if isinstance(node, yaml.SequenceNode) else f"!{node.value}"

    Loader.add_multi_constructor("!", construct)
    value = yaml.load(path.read_text(encoding="utf-8"), Loader)

    def resolved(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: resolved(part) for key, part in found.items()}
        if isinstance(found, str) and found.startswith("!<") and found.endswith(">"):
            return value.get(found[2:-1], found)
        return found

    return {key: resolved(part) for key, part in value.items()}


HIFIGAN = (
    "mel_spectrogram", "spectral_normalize_torch", "dynamic_range_compression_torch", "mel_basis", "hann_window",
)  # fmt: skip
"""What a mel takes of HiFi-GAN's code, which others have copied."""


def hifigan_dataset(path: Path, config: Path, fine_tuning: bool = False) -> Mel:
    """Return the mels of a HiFi-GAN ``MelDataset``, its peak included."""
    h = json.loads(config.read_text(encoding="utf-8"))
    keys = ("segment_size", "n_fft", "num_mels", "hop_size", "win_size", "sampling_rate", "fmin", "fmax")
    code = take(path, *HIFIGAN, "MelDataset")
    if fine_tuning:
        # What fine-tuning loads is made by the model's own script, from samples at their level.
        order = ("n_fft", "num_mels", "sampling_rate", "hop_size", "win_size", "fmin", "fmax")
        return lambda x: code.mel_spectrogram(tensor(x), *(h[key] for key in order))[0]
    dataset = code.MelDataset(["-"], *(h[key] for key in keys), split=False, shuffle=False, n_cache_reuse=0)
    return lambda _: dataset[0][0]


def torchaudio(root: Path, *, wide: bool = True) -> types.SimpleNamespace:
    at = root / "audio/torchaudio"
    functional = take(
        at / "functional/functional.py", "spectrogram", "_get_spec_norms", "melscale_fbanks", "_hz_to_mel",
        "_mel_to_hz", "_create_triangular_filterbank", wide=wide,
    )  # fmt: skip
    names = ("Spectrogram", "MelScale", "MelSpectrogram")
    transforms = take(at / "transforms/_transforms.py", *names, F=functional, wide=wide)
    return types.SimpleNamespace(functional=functional, transforms=transforms)


def sources(root: Path) -> Iterator[tuple[str, str, Callable[[], Mel]]]:
    """Yield preset, source, and what makes a function of float64 samples that returns [n_mels, n_frames]."""

    def parakeet() -> Mel:
        at = root / "Parakeet/parakeet/audio"
        processor = take(at / "audio.py").AudioProcessor(22050, 1024, 1024, 256, fmax=8000)
        log = take(at / "spec_normalizer.py").LogMagnitude()
        return lambda _: log.transform(processor.mel_spectrogram(processor.read_wav("-")))

    yield "parakeet", "PaddlePaddle/Parakeet parakeet/audio", parakeet

    def wavenet() -> Mel:
        at = root / "Parakeet/examples/wavenet"
        data = yaml.safe_load((at / "configs/wavenet_single_gaussian.yaml").read_text())["data"]
        code = take(at / "data.py", "Transform")
        transform = code.Transform(
            *(data[key] for key in ("sample_rate", "n_fft", "win_length", "hop_length", "n_mels"))
        )
        return lambda _: transform(("-", "", ""))[1]

    yield "parakeet-wavenet", "PaddlePaddle/Parakeet@384d093 examples/wavenet/data.py", wavenet

    def waveflow() -> Mel:
        normalizer = take(root / "Parakeet/parakeet/audio/spec_normalizer.py").LogMagnitude
        code = take(root / "Parakeet/examples/waveflow/preprocess.py", "Transform", LogMagnitude=normalizer)
        transform = code.Transform(22050, 1024, 1024, 256, 80, 0, 8000)
        return lambda _: transform(("-", "", ""))[1]

    yield "parakeet-waveflow", "PaddlePaddle/Parakeet examples/waveflow/preprocess.py", waveflow

    def log_mel_fbank(name: str) -> Mel:
        config = yaml.safe_load((root / f"Parakeet/examples/fastspeech2/{name}/conf/default.yaml").read_text())
        bank = take(root / "Parakeet/parakeet/data/get_feats.py", "LogMelFBank").LogMelFBank(
            config["fs"], config["n_fft"], config["n_shift"], config["win_length"], config["window"], config["n_mels"],
            config["fmin"], config["fmax"],
        )  # fmt: skip
        return lambda x: bank.get_log_mel_fbank(x).T

    def parallel_wavegan(recipe: str) -> Mel:
        at = root / "ParallelWaveGAN"
        config = yaml.safe_load((at / f"egs/{recipe}/conf/parallel_wavegan.v1.yaml").read_text())
        keys = ("sampling_rate", "fft_size", "hop_size", "win_length", "window", "num_mels", "fmin", "fmax")
        code = take(at / "parallel_wavegan/bin/preprocess.py", "logmelfilterbank")
        return lambda x: code.logmelfilterbank(x, **{key: config[key] for key in keys}).T

    for preset, name, recipe in (
        ("parakeet-fastspeech2", "ljspeech", "ljspeech/voc1"),
        ("parakeet-fastspeech2-24k", "baker", "csmsc/voc1"),
    ):
        fbank, pwg = functools.partial(log_mel_fbank, name), functools.partial(parallel_wavegan, recipe)
        yield preset, f"PaddlePaddle/Parakeet parakeet/data/get_feats.py, fastspeech2/{name}", fbank
        yield preset, f"kan-bayashi/ParallelWaveGAN bin/preprocess.py, {recipe}", pwg

    @functools.cache
    def styletts2() -> Mel:
        path = root / "StyleTTS2/meldataset.py"
        code = take(
            path, "to_mel", "mean", "preprocess", "FilePathDataset._load_tensor",
            torchaudio=torchaudio(root), sf=types.SimpleNamespace(read=RECORDING.load), osp=os.path,
        )  # fmt: skip
        dataset = types.SimpleNamespace(root_path="", text_cleaner=lambda _: [])

        def mel(_: np.ndarray) -> Any:
            found = code.preprocess(code._load_tensor(dataset, ("-", "", 0))[0]).squeeze()
            return found[:, : found.shape[1] - found.shape[1] % 2]

        return mel

    yield "styletts2", "yl4579/StyleTTS2 meldataset.py", styletts2

    def speechain(conf: dict[str, Any]) -> Mel:
        class Module(torch.nn.Module):
            def __init__(self, **settings: Any) -> None:
                super().__init__()
                self.module_init(**settings)

        at = root / "SpeeChain/speechain/module/frontend"
        given: dict[str, Any] = {"Module": Module, "torchaudio": torchaudio(root)}
        for name, kind in (("speech2linear", "Speech2LinearSpec"), ("linear2mel", "LinearSpec2MelSpec")):
            given[kind] = getattr(take(at / f"{name}.py", **given), kind)
        module = take(at / "speech2mel.py", **given).Speech2MelSpec(**conf)
        return lambda x: module(tensor(x)[..., None], torch.tensor([len(x)]))[0][0].T

    def speechain_tts() -> Mel:
        text = (root / "SpeeChain/recipes/tts/ljspeech/exp_cfg/22.05khz_mfa_fastspeech2.yaml").read_text()
        block = text[text.index("type: frontend.speech2mel.Speech2MelSpec") :]
        lines = "\n".join(block.splitlines()[2:11])
        conf = yaml.safe_load(lines.replace("!ref <sample_rate>", "22050").replace("!ref <hop_length>", "256"))
        return speechain({**conf, "clamp": float(conf["clamp"])})

    yield "speechain-tts", "heli-qi/SpeeChain module/frontend/speech2mel.py, recipes/tts/ljspeech", speechain_tts

    def speechain_conventional() -> Mel:
        return speechain(
            {"sr": 22050, **yaml.safe_load((root / "SpeeChain/config/feat/log_mel/conventional_tts.yaml").read_text())}
        )

    yield (
        "speechain-conventional-tts",
        "heli-qi/SpeeChain config/feat/log_mel/conventional_tts.yaml",
        speechain_conventional,
    )

    def tacotron_stft(folder: Path, file: str = "layers.py") -> Mel:
        compression = take(folder / "audio_processing.py", "dynamic_range_compression", "dynamic_range_decompression")
        # The pseudo-inverse is for the way back only, and takes a minute.
        numpy = types.SimpleNamespace(**vars(np))
        numpy.linalg = types.SimpleNamespace(pinv=np.transpose)
        stft = take(folder / "stft.py", "STFT", np=numpy).STFT
        code = take(folder / file, "TacotronSTFT", STFT=stft, **vars(compression))
        layer = code.TacotronSTFT(1024, 256, 1024, 80, 22050, 0.0, 8000.0)
        # FastSpeech 2 returns the energy, too.
        return lambda x: torch.as_tensor(layer.mel_spectrogram(tensor(x))[0]).squeeze(0)

    fastpitch = "DeepLearningExamples/PyTorch/SpeechSynthesis/FastPitch/common"
    yield (
        "fastspeech2",
        "ming024/FastSpeech2 audio/stft.py",
        lambda: tacotron_stft(root / "FastSpeech2/audio", "stft.py"),
    )
    yield "tacotron2", "NVIDIA/tacotron2 layers.py", lambda: tacotron_stft(root / "tacotron2")
    yield "fastpitch", f"NVIDIA/{fastpitch}/layers.py", lambda: tacotron_stft(root / fastpitch)

    for preset, where, config, fine_tuning in (
        ("hifigan", "jik876/hifi-gan", "config_v1.json", False),
        ("hifigan-unscaled", "jik876/hifi-gan", "config_v1.json", True),
        ("istftnet", "rishikksh20/iSTFTNet-pytorch", "config_v1.json", False),
    ):
        at = root / where.rpartition("/")[2]
        dataset = functools.partial(hifigan_dataset, at / "meldataset.py", at / config, fine_tuning)
        yield preset, f"{where} meldataset.py, {config}", dataset

    def bigvgan(name: str) -> Mel:
        config = types.SimpleNamespace(**json.loads((root / f"BigVGAN/configs/{name}.json").read_text()))
        code = take(
            root / "BigVGAN/meldataset.py", *HIFIGAN, "get_mel_spectrogram", "mel_basis_cache", "hann_window_cache"
        )
        # The line of its __getitem__ before the mel.
        return lambda x: code.get_mel_spectrogram(tensor(librosa.util.normalize(x) * 0.95), config)[0]

    for preset, names in {
        "bigvgan-22k-80": ("bigvgan_v2_22khz_80band_256x",),
        "bigvgan-22k-80-fmax8k": ("bigvgan_base_22khz_80band", "bigvgan_v2_22khz_80band_fmax8k_256x"),
        "bigvgan-24k-100": ("bigvgan_24khz_100band", "bigvgan_v2_24khz_100band_256x"),
        "bigvgan-44k-128": ("bigvgan_v2_44khz_128band_512x",),
        "bigvgan-44k-128-256x": ("bigvgan_v2_44khz_128band_256x",),
    }.items():
        for name in names:
            yield preset, f"NVIDIA/BigVGAN meldataset.py, {name}.json", functools.partial(bigvgan, name)

    def vocos() -> Mel:
        given = {"torchaudio": torchaudio(root), "safe_log": take(root / "vocos/vocos/modules.py", "safe_log").safe_log}
        code = take(root / "vocos/vocos/feature_extractors.py", "FeatureExtractor", "MelSpectrogramFeatures", **given)
        features = code.MelSpectrogramFeatures()
        return lambda x: features(tensor(x))[0]

    yield "vocos", "gemelo-ai/vocos vocos/feature_extractors.py", vocos

    def f5_tts() -> Mel:
        names = ("get_vocos_mel_spectrogram", "vocos_mel_stft_cache")
        code = take(root / "F5-TTS/src/f5_tts/model/modules.py", *names, torchaudio=torchaudio(root))
        return lambda x: code.get_vocos_mel_spectrogram(tensor(x))[0]

    yield "f5-tts", "SWivid/F5-TTS src/f5_tts/model/modules.py", f5_tts

    def matcha(settings: dict[str, Any], mean: float = 0.0, std: float = 1.0) -> Mel:
        code = take(root / "Matcha-TTS/matcha/utils/audio.py", *HIFIGAN)
        normalize = take(root / "Matcha-TTS/matcha/utils/model.py", "normalize").normalize
        return lambda x: normalize(code.mel_spectrogram(tensor(x), **settings), mean, std)[0]

    def cosyvoice(name: str) -> Mel:
        config = tagged_yaml(root / f"CosyVoice/examples/libritts/{name}/conf/{name}.yaml")
        extract = matcha(config["feat_extractor"])
        steps = take(root / "CosyVoice/cosyvoice/dataset/processor.py", "resample", "compute_fbank")
        frames = config["compute_fbank"].get("num_frames", -1)

        def mel(x: np.ndarray) -> Any:
            sample = {"speech": tensor(x), "sample_rate": config["sample_rate"], "utt": "", "text_token": []}
            leveled = steps.resample([sample], config["sample_rate"])
            made = steps.compute_fbank(leveled, lambda speech: extract(speech[0].numpy())[None], frames)
            return next(made)["speech_feat"].T

        return mel

    for name in ("cosyvoice", "cosyvoice2", "cosyvoice3"):
        source = f"FunAudioLLM/CosyVoice {name}.yaml, dataset/processor.py, matcha/utils/audio.py"
        yield name, source, functools.partial(cosyvoice, name)

    def univnet(name: str) -> Mel:
        a = types.SimpleNamespace(**yaml.safe_load((root / f"univnet/config/{name}.yaml").read_text())["audio"])
        layer = take(root / "univnet/utils/stft.py").TacotronSTFT(
            a.filter_length, a.hop_length, a.win_length, a.n_mel_channels, a.sampling_rate, a.mel_fmin, a.mel_fmax
        )
        return lambda x: layer.mel_spectrogram(tensor(x))[0]

    yield "univnet", "maum-ai/univnet utils/stft.py, default_c32.yaml", lambda: univnet("default_c32")

    def matcha_corpus(name: str) -> Mel:
        at = root / "Matcha-TTS/configs/data"
        config = {**yaml.safe_load((at / "ljspeech.yaml").read_text()), **yaml.safe_load((at / name).read_text())}
        names = {
            "n_fft": "n_fft", "num_mels": "n_feats", "sampling_rate": "sample_rate", "hop_size": "hop_length",
            "win_size": "win_length", "fmin": "f_min", "fmax": "f_max",
        }  # fmt: skip
        statistics = config["data_statistics"]
        return matcha(
            {key: config[found] for key, found in names.items()}, statistics["mel_mean"], statistics["mel_std"]
        )

    for preset, name in (
        ("matcha", "ljspeech"),
        ("matcha-vctk", "vctk"),
        ("matcha-hi-fi-captain", "hi-fi_en-US_female"),
    ):
        found = functools.partial(matcha_corpus, f"{name}.yaml")
        yield preset, f"shivammehta25/Matcha-TTS matcha/utils/audio.py, {name}.yaml", found

    def vits() -> Mel:
        d = json.loads((root / "vits/configs/ljs_base.json").read_text())["data"]
        code = take(root / "vits/mel_processing.py", *HIFIGAN, "mel_spectrogram_torch")
        keys = ("filter_length", "n_mel_channels", "sampling_rate", "hop_length", "win_length", "mel_fmin", "mel_fmax")
        return lambda x: code.mel_spectrogram_torch(tensor(x), *(d[key] for key in keys))[0]

    yield "vits", "jaywalnut310/vits mel_processing.py, ljs_base.json", vits

    def piper() -> Mel:
        at = root / "piper1-gpl/src/piper/train/vits"
        code = take(at / "mel_processing.py", *HIFIGAN, "mel_spectrogram_torch")
        # The defaults of VitsModel.
        return lambda x: code.mel_spectrogram_torch(tensor(x), 1024, 80, 22050, 256, 1024, 0.0, None)[0]

    yield "piper", "OHF-Voice/piper1-gpl src/piper/train/vits/mel_processing.py", piper

    def espnet() -> Mel:
        at = root / "espnet/espnet2"
        given: dict[str, Any] = {
            "InversibleInterface": object,
            "is_torch_1_10_plus": True,
            "AbsFeatsExtract": torch.nn.Module,
        }
        given["Stft"] = take(at / "layers/stft.py", "Stft", **given).Stft
        given["LogMel"] = take(at / "layers/log_mel.py", **given).LogMel
        layer = take(at / "tts/feats_extract/log_mel_fbank.py", "LogMelFbank", **given).LogMelFbank(fs=22050)
        return lambda x: layer(tensor(x))[0][0].T

    yield "espnet2-tts", "espnet/espnet espnet2/tts/feats_extract/log_mel_fbank.py", espnet

    def coqui(**settings: Any) -> Mel:
        at = root / "TTS/TTS/utils/audio"
        transforms = vars(take(at / "numpy_transforms.py"))
        defaults = take(
            root / "TTS/TTS/config/shared_configs.py", "BaseAudioConfig", Coqpit=object, dataclass=lambda kind: kind
        ).BaseAudioConfig
        values = {name: getattr(defaults, name) for name in defaults.__annotations__} | settings
        processor = take(at / "processor.py", **transforms).AudioProcessor(**values, verbose=False)
        return processor.melspectrogram

    def coqui_ljspeech() -> Mel:
        tree = ast.parse((root / "TTS/recipes/ljspeech/fast_pitch/train_fast_pitch.py").read_text())
        call = next(
            n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "BaseAudioConfig"
        )
        return coqui(**{keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})

    yield "coqui", "coqui-ai/TTS TTS/utils/audio/processor.py, BaseAudioConfig", coqui
    yield "coqui-ljspeech", "coqui-ai/TTS TTS/utils/audio/processor.py, recipes/ljspeech/fast_pitch", coqui_ljspeech

    def wavenet_vocoder() -> Mel:
        hparams = json.loads((root / "wavenet_vocoder/egs/mol/conf/mol_wavenet.json").read_text())
        code = take(
            root / "wavenet_vocoder/audio.py", "logmelspectrogram", "_stft", "_linear_to_mel", "_build_mel_basis",
            "_mel_basis", "get_hop_size", "get_win_length", hparams=types.SimpleNamespace(**hparams),
        )  # fmt: skip
        return code.logmelspectrogram

    yield "wavenet-vocoder", "r9y9/wavenet_vocoder audio.py, mol_wavenet.json", wavenet_vocoder

    def speecht5() -> Mel:
        path = root / "SpeechT5/SpeechT5/speecht5/data/text_to_speech_dataset.py"
        code = take(path, "logmelfilterbank")
        return lambda x: code.logmelfilterbank(x, 16000).T

    def speecht5_transformers() -> Mel:
        class Base:
            def __init__(self, **settings: Any) -> None:
                vars(self).update(settings)

        at = root / "transformers/src/transformers"
        given = vars(take(at / "audio_utils.py"))
        path = at / "models/speecht5/feature_extraction_speecht5.py"
        extractor = take(path, **{**given, "SequenceFeatureExtractor": Base}).SpeechT5FeatureExtractor()
        return lambda x: extractor._extract_mel_features(x).T

    yield "speecht5", "microsoft/SpeechT5 SpeechT5/speecht5/data/text_to_speech_dataset.py", speecht5
    yield "speecht5", "huggingface/transformers models/speecht5/feature_extraction_speecht5.py", speecht5_transformers

    def nemo(name: str) -> Mel:
        config = yaml.safe_load((root / f"NeMo/examples/tts/conf/{name}.yaml").read_text())
        model = config["model"]["preprocessor"]
        names = {"features": "nfilt"}
        seconds = ("_target_", "window_size", "window_stride")
        values = {names.get(key, key): value for key, value in model.items() if key not in seconds}
        for key, value in values.items():
            if isinstance(value, str) and value.startswith("${"):
                values[key] = config[value[2:-1].removeprefix("model.")]
            elif isinstance(value, str) and key.endswith("value"):
                values[key] = float(value)
        values.pop("normalize")
        path = root / "NeMo/nemo/collections/asr/parts/preprocessing/features.py"
        layer = take(path, "FilterbankFeatures", CONSTANT=1e-5).FilterbankFeatures(**values, normalize=None).eval()
        # One hop more than there are samples: the releases that made the checkpoints counted one frame more than the
        # present code, which masks the last one.
        return lambda x: layer(tensor(x), torch.tensor([len(x) + layer.hop_length]))[0][0]

    for preset, name in {
        "nemo-fastpitch": "fastpitch_align_v1.05",
        "nemo-fastpitch-44k": "fastpitch_align_44100",
        "nemo-hifigan": "hifigan/hifigan",
        "nemo-hifigan-44k": "hifigan/hifigan_44100",
    }.items():
        yield preset, f"NVIDIA/NeMo parts/preprocessing/features.py, {name}.yaml", functools.partial(nemo, name)

    def whisper(n_mels: int) -> Mel:
        names = ("log_mel_spectrogram", "mel_filters", "SAMPLE_RATE", "N_FFT", "HOP_LENGTH")
        code = take(root / "whisper/whisper/audio.py", *names)
        filters = code.mel_filters
        code.log_mel_spectrogram.__globals__["mel_filters"] = lambda *found: filters(*found).double()
        return lambda x: code.log_mel_spectrogram(np.asarray(x, np.float64), n_mels)

    for n_mels in (80, 128):
        yield f"whisper-{n_mels}", "openai/whisper whisper/audio.py", functools.partial(whisper, n_mels)

    def melgan() -> Mel:
        code = take(root / "melgan-neurips/mel2wav/modules.py", "Audio2Mel")
        layer = code.Audio2Mel()
        # A line of mel2wav/dataset.py.
        return lambda x: layer(tensor(0.95 * librosa.util.normalize(x))[None])[0]

    yield "melgan", "descriptinc/melgan-neurips mel2wav/modules.py", melgan

    def gpt_sovits(*settings: Any) -> Mel:
        at = root / "GPT-SoVITS/GPT_SoVITS/module"
        names = ("mel_basis", "hann_window", "spectrogram_torch", "spec_to_mel_torch")
        more = ("spectral_normalize_torch", "dynamic_range_compression_torch")
        code = take(at / "mel_processing.py", *names, *more)
        loader = types.SimpleNamespace(spec_min=-12, spec_max=2)
        norm = take(at / "data_utils.py", "TextAudioSpeakerLoaderV3.norm_spec").norm_spec
        n_fft, rate, hop = settings

        def mel(x: np.ndarray) -> Any:
            spectrum = code.spectrogram_torch(tensor(x), n_fft, rate, hop, n_fft, center=False)
            return norm(loader, code.spec_to_mel_torch(spectrum, n_fft, 100, rate, 0, None)[0])

        return mel

    for version, settings in (("v3", (1024, 24000, 256)), ("v4", (1280, 32000, 320))):
        where = "RVC-Boss/GPT-SoVITS module/mel_processing.py and data_utils.py"
        yield f"gpt-sovits-{version}", where, functools.partial(gpt_sovits, *settings)

    def fish_speech() -> Mel:
        at = root / "fish-speech/fish_speech"
        config = yaml.safe_load((at / "configs/firefly_gan_vq.yaml").read_text())["spec_transform"]
        del config["_target_"]
        layer = take(at / "utils/spectrogram.py", F=torchaudio(root).functional).LogMelSpectrogram(**config)
        return lambda x: layer(tensor(x))[0]

    yield "fish-speech", "fishaudio/fish-speech@1905b08^ fish_speech/utils/spectrogram.py", fish_speech

    def speechbrain(model: str, recipe: str) -> Mel:
        at = root / "speechbrain"
        text = (at / f"recipes/LJSpeech/TTS/{recipe}/hparams/train.yaml").read_text()
        block = dict(re.findall(r"^(\w+): *(?:!ref <)?([^\s#>]+)", text, re.MULTILINE))
        # Its mel_spectogram is these two calls, and imports torchaudio itself.
        code = take(at / f"speechbrain/lobes/models/{model}.py", "dynamic_range_compression")
        keys = {"n_mels": "n_mel_channels", "f_min": "mel_fmin", "f_max": "mel_fmax", "normalized": "mel_normalized"}
        keys |= {key: key for key in ("sample_rate", "hop_length", "win_length", "n_fft", "power", "norm", "mel_scale")}
        settings = {key: yaml.safe_load(block[name]) for key, name in keys.items()}
        assert block["dynamic_range_compression"] == "True"
        transform = torchaudio(root).transforms.MelSpectrogram(**settings)
        return lambda x: code.dynamic_range_compression(transform(tensor(x)[0]))

    for preset, model, recipe in (
        ("speechbrain-tacotron2", "Tacotron2", "tacotron2"),
        ("speechbrain-hifigan", "HifiGAN", "vocoder/hifigan"),
    ):
        found = functools.partial(speechbrain, model, recipe)
        yield preset, f"speechbrain/speechbrain lobes/models/{model}.py, recipes/LJSpeech/TTS/{recipe}", found

    def index_tts_2() -> Mel:
        names = ("mel_spectrogram", "mel_basis", "hann_window", "spectral_normalize_torch")
        path = root / "index-tts/indextts/s2mel/modules/audio.py"
        code = take(path, *names, "dynamic_range_compression_torch")
        # preprocess_params of the checkpoint's config.yaml: fmax is the text None.
        return lambda x: code.mel_spectrogram(tensor(x), 1024, 80, 22050, 256, 1024, 0, None)[0]

    yield "index-tts-2", "index-tts/index-tts indextts/s2mel/modules/audio.py", index_tts_2

    def melotts() -> Mel:
        d = json.loads((root / "MeloTTS/melo/configs/config.json").read_text())["data"]
        code = take(root / "MeloTTS/melo/mel_processing.py", *HIFIGAN, "mel_spectrogram_torch")
        keys = ("filter_length", "n_mel_channels", "sampling_rate", "hop_length", "win_length", "mel_fmin", "mel_fmax")
        return lambda x: code.mel_spectrogram_torch(tensor(x), *(d[key] for key in keys))[0]

    yield "melotts", "myshell-ai/MeloTTS melo/mel_processing.py, config.json", melotts

    def vevo() -> Mel:
        text = (root / "Amphion/models/vc/vevo/config/Vq8192ToMels.json").read_text()
        d = {key: float(value) for key, value in re.findall(r'"(\w+)": (-?[\d.]+),', text)}
        names = ("MelSpectrogram", "spectral_normalize_torch", "dynamic_range_compression_torch")
        code = take(root / "Amphion/models/codec/melvqgan/melspec.py", *names)
        sizes = ("n_fft", "num_mels", "sample_rate", "hop_size", "win_size", "fmin", "fmax")
        features = code.MelSpectrogram(*(int(d[key]) for key in sizes))
        # extract_mel_feature of vevo_utils.py.
        return lambda x: (features(tensor(x))[0] - d["mel_mean"]) / math.sqrt(d["mel_var"])

    yield "vevo", "open-mmlab/Amphion models/codec/melvqgan/melspec.py, Vq8192ToMels.json", vevo

    def tortoise() -> Mel:
        path = root / "tortoise-tts/tortoise/models/arch_util.py"
        code = take(path, "TorchMelSpectrogram", "DEFAULT_MEL_NORM_FILE", torchaudio=torchaudio(root))
        features = code.TorchMelSpectrogram()
        return lambda x: features(tensor(x))[0]

    yield "tortoise", "neonbjb/tortoise-tts tortoise/models/arch_util.py, mel_norms.pth", tortoise

    def tortoise_diffusion() -> Mel:
        at = root / "tortoise-tts/tortoise/utils"
        names = ("TACOTRON_MEL_MAX", "TACOTRON_MEL_MIN", "normalize_tacotron_mel", "dynamic_range_compression")
        code = take(at / "audio.py", *names)
        # TacotronSTFT.mel_spectrogram with the magnitudes of torch's transform: its own STFT is that as a convolution.
        bank = torch.from_numpy(mel_filters(sr=24000, n_fft=1024, n_mels=100, fmin=0, fmax=12000, dtype=np.float64))
        window = torch.hann_window(1024)

        def features(x: np.ndarray) -> torch.Tensor:
            spectrum = torch.stft(tensor(x)[0], 1024, 256, 1024, window, return_complex=True).abs()
            return code.normalize_tacotron_mel(code.dynamic_range_compression(bank @ spectrum))

        return features

    yield "tortoise-diffusion", "neonbjb/tortoise-tts tortoise/utils/audio.py", tortoise_diffusion

    def zonos() -> Mel:
        code = take(root / "Zonos/zonos/speaker_cloning.py", "logFbankCal", torchaudio=torchaudio(root))
        features = code.logFbankCal()
        return lambda x: features(tensor(x))[0]

    yield "zonos-speaker", "Zyphra/Zonos zonos/speaker_cloning.py", zonos

    def campplus() -> Mel:
        windows = {name: name.lower() for name in ("HAMMING", "HANNING", "POVEY", "RECTANGULAR", "BLACKMAN")}
        given = {"EPSILON": torch.tensor(2.0**-23), "MILLISECONDS_TO_SECONDS": 0.001, "torchaudio": None, **windows}
        code = take(root / "audio/torchaudio/compliance/kaldi.py", **given)

        def features(x: np.ndarray) -> torch.Tensor:
            found = code.fbank(tensor(x), num_mel_bins=80, dither=0, sample_frequency=16000)
            return (found - found.mean(dim=0, keepdim=True)).T

        return features

    yield "campplus", "pytorch/audio torchaudio/compliance/kaldi.py, as in CosyVoice's cli/frontend.py", campplus

    def chatterbox() -> Mel:
        names = ("mel_spectrogram", "mel_basis", "hann_window", "logger")
        more = ("spectral_normalize_torch", "dynamic_range_compression_torch")
        code = take(root / "chatterbox/src/chatterbox/models/s3gen/utils/mel.py", *names, *more)
        return lambda x: code.mel_spectrogram(tensor(x))[0]

    yield "chatterbox", "resemble-ai/chatterbox models/s3gen/utils/mel.py", chatterbox

    def index_tts() -> Mel:
        at = root / "index-tts/indextts/utils"
        given = {"torchaudio": torchaudio(root), "safe_log": take(at / "common.py", "safe_log").safe_log}
        code = take(at / "feature_extractors.py", "FeatureExtractor", "MelSpectrogramFeatures", **given)
        features = code.MelSpectrogramFeatures()
        return lambda x: features(tensor(x))[0]

    yield "index-tts", "index-tts/index-tts indextts/utils/feature_extractors.py", index_tts

    def zipvoice() -> Mel:
        def num_frames(duration: float, shift: float, _: int) -> int:
            """As lhotse's `compute_num_frames`: the ratio, rounded half up."""
            return math.floor(round(duration / shift, 8) + 0.5)

        given = {"compute_num_frames": num_frames, "dataclass": lambda found: found}
        names = ("VocosFbankConfig", "VocosFbank.extract", "VocosFbank._feature_fn")
        code = take(root / "ZipVoice/zipvoice/utils/feature.py", *names, **given)
        config = code.VocosFbankConfig
        fbank = torchaudio(root).transforms.MelSpectrogram(
            sample_rate=config.sampling_rate, n_fft=config.n_fft, hop_length=config.hop_length, n_mels=config.n_mels,
            center=True, power=1,
        )  # fmt: skip
        extractor = types.SimpleNamespace(
            config=config, num_channels=1, frame_shift=config.hop_length / config.sampling_rate, fbank=fbank
        )
        extractor._feature_fn = functools.partial(code._feature_fn, extractor)
        return lambda x: 0.1 * code.extract(extractor, np.asarray(x, np.float64), config.sampling_rate).T

    yield "zipvoice", "k2-fsa/ZipVoice zipvoice/utils/feature.py, times its feat_scale", zipvoice


def configured(root: Path) -> Iterator[tuple[str, str, MelConfig, Callable[[], Mel]]]:
    """Yield mels that are no preset: settings, source, our settings, and what makes the mel."""

    def vocos(settings: Mapping[str, Any]) -> Mel:
        given = {"torchaudio": torchaudio(root), "safe_log": take(root / "vocos/vocos/modules.py", "safe_log").safe_log}
        code = take(root / "vocos/vocos/feature_extractors.py", "FeatureExtractor", "MelSpectrogramFeatures", **given)
        features = code.MelSpectrogramFeatures(**settings)
        return lambda x: features(tensor(x))[0]

    for settings in (
        {"sample_rate": 44_100, "n_fft": 2048, "hop_length": 512, "n_mels": 128, "padding": "same"},
        {"sample_rate": 44_100, "n_fft": 2048, "hop_length": 512, "n_mels": 128, "padding": "center"},
    ):
        extractor = {"class_path": "vocos.feature_extractors.MelSpectrogramFeatures", "init_args": settings}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vocos.yaml"
            path.write_text(yaml.safe_dump({"model": {"init_args": {"feature_extractor": extractor}}}))
            config = read_vocoder_config(path).mel
        name = f"`--vocoder-config` of Vocos at 44,100 Hz, `padding: {settings['padding']}`"
        yield name, "gemelo-ai/vocos vocos/feature_extractors.py", config, functools.partial(vocos, settings)

    def xtts(norms: np.ndarray, settings: Mapping[str, Any]) -> Mel:
        code = take(
            root / "coqui-ai-TTS/TTS/tts/layers/tortoise/arch_utils.py", "TorchMelSpectrogram",
            torchaudio=torchaudio(root), DEFAULT_MEL_NORM_FILE=None,
        )  # fmt: skip
        features = code.TorchMelSpectrogram(**settings, mel_norm_file=None)
        features.mel_norms = torch.from_numpy(norms)
        return lambda x: features(tensor(x))[0]

    # The user's own file has the numbers: these are of the same size.
    norms = np.random.default_rng(0).uniform(1, 5, 80).astype(np.float32)
    base = replace(DESCRIPTIONS["tortoise"].config, compression=Compression(bin_norms=tuple(norms.tolist())))
    for n_fft, win, hop in ((1024, 1024, 256), (2048, 1024, 256), (4096, 4096, 1024)):
        settings = {"filter_length": n_fft, "win_length": win, "hop_length": hop}
        config = replace(base, n_fft=n_fft, win_length=win, hop_length=hop)
        name = f"XTTS: `tortoise` with the `bin_norms` of a file, {n_fft} / {win} / {hop}"
        make = functools.partial(xtts, norms.astype(np.float64), settings)
        yield (
            name,
            "idiap/coqui-ai-TTS TTS/tts/layers/tortoise/arch_utils.py, xtts/trainer/gpt_trainer.py",
            config,
            make,
        )


def compare(preset: str, config: MelConfig, mel: Mel, clips: list[tuple[np.ndarray, int]]) -> dict[str, Any]:
    """Return the largest difference, its 99.9th percentile, and how many values were compared."""
    differences = []
    for samples, rate in clips:
        x = samples if rate == config.sample_rate else soxr.resample(samples, rate, config.sample_rate)
        # Recordings of some length that is no multiple of a hop; sources refuse samples beyond full scale.
        x = np.clip(x, -1, 1).astype(np.float32)
        RECORDING.samples, RECORDING.rate = x, config.sample_rate
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = np.asarray(mel(x.astype(np.float64)))
        ours = mel_spectrogram(x, config)
        if ours.T.shape != theirs.shape:
            raise ValueError(f"{preset}: [n_mels, n_frames] is {theirs.shape} there and {ours.T.shape} here")
        if theirs.dtype != np.float64:
            raise TypeError(f"{preset}: the source's values are {theirs.dtype}, not float64")
        differences.append(np.abs(ours.T - theirs).ravel())
    found = np.concatenate(differences)
    return {"largest": float(found.max()), "p999": float(np.quantile(found, 0.999)), "values": len(found)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare every preset with the code of its source.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("clips", type=Path, nargs="*")
    parser.add_argument("--only", help="one preset, or 'configured': what is no preset")
    parser.add_argument("--list", action="store_true", help="list presets and sources, and compare nothing")
    parser.add_argument("--write", type=Path, help="write the numbers to this file, for docs/make_presets.py")
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    clips = []
    for path in options.clips:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        clips.append((samples[:, 0], rate))
    rows, others, failed = [], [], False
    print("| preset | source | largest difference | 99.9 % below |\n| --- | --- | --- | --- |")
    every = [(name, source, DESCRIPTIONS[name].config, make) for name, source, make in sources(options.checkouts)]
    every += configured(options.checkouts)
    for name, source, config, make in every:
        if options.only in (None, name, "configured" if name not in DESCRIPTIONS else None):
            shown = f"`{name}`" if name in DESCRIPTIONS else name
            try:
                found = {} if options.list else compare(name, config, make(), clips)
            except Exception as error:
                print(f"| {shown} | {source} | cannot be run: {error!r} |", flush=True)
                failed = True
                continue
            if name in DESCRIPTIONS:
                rows.append({"preset": name, "source": source, **found})
            else:
                others.append({"settings": name, "source": source, **found})
            numbers = f"{found['largest']:.2g} | {found['p999']:.2g}" if found else "|"
            print(f"| {shown} | {source} | {numbers} |", flush=True)
    if options.write:
        seconds = sum(len(samples) / rate for samples, rate in clips)
        value = {"clips": len(clips), "seconds": round(seconds, 1), "rows": rows}
        value["configured"] = {**value, "rows": others}
        options.write.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
