"""Read the configuration files of public systems, and say as which system's each is read, or why it is refused.

    python conformance/configurations.py DIR --write docs/presets-configurations.json

DIR has a checkout of each repository of `SOURCES` at its commit, in a folder of its name. Every JSON and YAML file that
names a hop or a filter bank is read, and stands in the list that is written. The mel of each file that is read is
compared with its source's code as in conformance/presets.py, with the environment of that script. Where it differs by
more than 2e-6 and has pre-emphasis, both sides are compared without it besides.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import re
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.signal
import torch
import yaml
from presets import HIFIGAN, RECORDING, Mel, sources, take, tensor, torchaudio

from tts_prep.errors import TtsPrepError
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.vocoders.files import read_table
from tts_prep.vocoders.systems import read_vocoder_config

SOURCES = {
    "jik876/hifi-gan": ("4769534", {"HiFi-GAN"}),
    "NVIDIA/BigVGAN": ("7d2b454", {"BigVGAN"}),
    "jaywalnut310/vits": ("2e561ba", {"VITS"}),
    "myshell-ai/MeloTTS": ("2091453", {"MeloTTS"}),
    "RVC-Boss/GPT-SoVITS": ("48b1a01", {"GPT-SoVITS"}),
    "coqui-ai/TTS": ("dbf1a08", {"Coqui TTS"}),
    "idiap/coqui-ai-TTS": ("7cde79e", {"Coqui TTS"}),
    "open-mmlab/Amphion": ("d3de90f", {"Amphion"}),
    "gemelo-ai/vocos": ("c859e3b", {"Vocos"}),
    "NVIDIA/NeMo": ("8cfedd7", {"NeMo"}),
    "maum-ai/univnet": ("9bb2b54", {"UnivNet"}),
    "r9y9/wavenet_vocoder": ("a35fff7", {"r9y9's WaveNet"}),
    "openvpi/SingingVocoders": ("4d0889c", {"openvpi's SingingVocoders"}),
    "yl4579/StyleTTS2": ("5cedc71", {"StyleTTS2"}),
    "SWivid/F5-TTS": ("2ae2c9b", {"F5-TTS"}),
    "shivammehta25/Matcha-TTS": ("108906c", {"Matcha-TTS"}),
    "kan-bayashi/ParallelWaveGAN": ("8674037", {"ParallelWaveGAN"}),
    "fishaudio/fish-speech": ("3dd1f85", {"Fish Speech"}),
    "FunAudioLLM/CosyVoice": ("ace7c47", {"CosyVoice"}),
}
"""The repositories, their commits, and the systems whose files they have."""

HAS_MEL = re.compile(
    r"hop_size|hop_length|n_window_stride|mel_hop|n_mels|num_mels|nfilt|win_length|n_fft|sample_rate|sampling_rate|mel_mean"
)


def _parallel_wavegan(root: Path, path: Path) -> Mel:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    keys = ("sampling_rate", "fft_size", "hop_size", "win_length", "window", "num_mels", "fmin", "fmax")
    code = take(root / "ParallelWaveGAN/parallel_wavegan/bin/preprocess.py", "logmelfilterbank")
    return lambda x: code.logmelfilterbank(x, **{key: config[key] for key in keys}).T


def _hifigan(folder: str) -> Callable[[Path, Path], Mel]:
    def found(root: Path, path: Path) -> Mel:
        h = json.loads(path.read_text(encoding="utf-8"))
        code = take(root / folder / "meldataset.py", *HIFIGAN, "mel_basis_cache", "hann_window_cache")
        keys = ("n_fft", "num_mels", "sampling_rate", "hop_size", "win_size", "fmin", "fmax")
        return lambda x: code.mel_spectrogram(tensor(x), *(h[key] for key in keys))[0]

    return found


def _vits(mel_processing: str) -> Callable[[Path, Path], Mel]:
    def found(root: Path, path: Path) -> Mel:
        d = json.loads(path.read_text(encoding="utf-8"))["data"]
        code = take(root / mel_processing, *HIFIGAN, "mel_spectrogram_torch")
        keys = ("filter_length", "n_mel_channels", "sampling_rate", "hop_length", "win_length", "mel_fmin", "mel_fmax")
        return lambda x: code.mel_spectrogram_torch(tensor(x), *(d[key] for key in keys))[0]

    return found


def _vocos(root: Path, path: Path) -> Mel:
    given = {"torchaudio": torchaudio(root), "safe_log": take(root / "vocos/vocos/modules.py", "safe_log").safe_log}
    code = take(root / "vocos/vocos/feature_extractors.py", "FeatureExtractor", "MelSpectrogramFeatures", **given)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))["model"]["init_args"]["feature_extractor"]
    features = code.MelSpectrogramFeatures(**settings["init_args"])
    return lambda x: features(tensor(x))[0]


def _f5_tts(root: Path, path: Path) -> Mel:
    names = ("MelSpec", "get_vocos_mel_spectrogram", "vocos_mel_stft_cache")
    code = take(root / "F5-TTS/src/f5_tts/model/modules.py", *names, torchaudio=torchaudio(root))
    layer = code.MelSpec(**yaml.safe_load(path.read_text(encoding="utf-8"))["model"]["mel_spec"])
    return lambda x: layer(tensor(x))[0]


def _of_preset(preset: Callable[[Path], str]) -> Callable[[Path, Path], Mel]:
    """Return the mels of conformance/presets.py, whose code reads the file itself, or no file."""

    def found(root: Path, path: Path) -> Mel:
        make = next(make for name, _, make in sources(root) if name == preset(path))

        def mel(x: np.ndarray) -> Any:
            RECORDING.samples, RECORDING.rate = x, read_vocoder_config(path).mel.sample_rate
            return make()(x)

        return mel

    return found


def _wavenet_vocoder(root: Path, path: Path) -> Mel:
    names = ("_stft", "_linear_to_mel", "_build_mel_basis", "_mel_basis", "get_hop_size", "get_win_length")
    given = types.SimpleNamespace(**json.loads(path.read_text(encoding="utf-8")))
    return take(root / "wavenet_vocoder/audio.py", "logmelspectrogram", *names, hparams=given).logmelspectrogram


def _univnet(root: Path, path: Path) -> Mel:
    a = yaml.safe_load(path.read_text(encoding="utf-8"))["audio"]
    keys = ("filter_length", "hop_length", "win_length", "n_mel_channels", "sampling_rate", "mel_fmin", "mel_fmax")
    layer = take(root / "univnet/utils/stft.py").TacotronSTFT(*(a[key] for key in keys))
    return lambda x: layer.mel_spectrogram(tensor(x))[0]


def _nemo(root: Path, path: Path) -> Mel:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))

    def value_of(value: Any, name: str) -> Any:
        while isinstance(value, str) and value.startswith("${"):
            value = functools.reduce(dict.__getitem__, value[2:-1].split("."), config)
        return float(value) if isinstance(value, str) and name.endswith("value") else value

    left_out = ("_target_", "window_size", "window_stride", "normalize")
    given = {
        {"features": "nfilt"}.get(name, name): value_of(value, name)
        for name, value in config["model"]["preprocessor"].items()
        if name not in left_out
    }
    code = take(root / "NeMo/nemo/collections/asr/parts/preprocessing/features.py", "FilterbankFeatures", CONSTANT=1e-5)
    layer = code.FilterbankFeatures(**given, normalize=None).eval()

    def mel(x: np.ndarray) -> Any:
        # One hop more than there are samples, as in conformance/presets.py, and no frames of padding.
        found, n_frames = layer(tensor(x), torch.tensor([len(x) + layer.hop_length]))
        return found[0][:, : int(n_frames[0])]

    return mel


def _coqui(folder: str) -> Callable[[Path, Path], Mel]:
    def found(root: Path, path: Path) -> Mel:
        at = root / folder / "TTS"
        given = {"scipy": scipy, "logger": logging.getLogger(), "StandardScaler": None}
        transforms = take(at / "utils/audio/numpy_transforms.py", **given)
        of_class = {"Coqpit": object, "dataclass": lambda kind: kind}
        defaults = take(at / "config/shared_configs.py", "BaseAudioConfig", **of_class).BaseAudioConfig
        own = dict(read_table(path).value["audio"])
        values = {name: getattr(defaults, name) for name in defaults.__annotations__} | own
        processor = take(at / "utils/audio/processor.py", **{**vars(transforms), **given})
        return processor.AudioProcessor(**values, verbose=False).melspectrogram

    return found


def _amphion(root: Path, path: Path) -> Mel:
    given = read_table(path).value["preprocess"]
    mean, std = given.get("mel_mean", 0.0), given.get("mel_var", 1.0) ** 0.5
    names = ("spectral_normalize_torch", "dynamic_range_compression_torch")
    if "num_mels" in given:
        # Vevo and its like, whose extract_mel_feature normalizes.
        sizes = ("n_fft", "num_mels", "sample_rate", "hop_size", "win_size", "fmin", "fmax")
        kind = take(root / "Amphion/models/codec/melvqgan/melspec.py", "MelSpectrogram", *names).MelSpectrogram
        features = kind(*(given[size] for size in sizes))
        return lambda x: (features(tensor(x))[0] - mean) / std
    code = take(root / "Amphion/utils/mel.py", "extract_mel_features", *names, "mel_basis", "hann_window")
    return lambda x: (code.extract_mel_features(tensor(x), types.SimpleNamespace(**given)) - mean) / std


def _singing_vocoders(root: Path, path: Path) -> Mel:
    given = read_table(path).value
    names = ("audio_sample_rate", "fft_size", "win_size", "hop_size", "fmin", "fmax", "audio_num_mel_bins")
    kind = take(root / "SingingVocoders/utils/wav2mel.py", "PitchAdjustableMelSpectrogram")
    layer = kind.PitchAdjustableMelSpectrogram(*(given[name] for name in names))
    compress = take(root / "SingingVocoders/process.py", "dynamic_range_compression_torch")
    return lambda x: compress.dynamic_range_compression_torch(layer(tensor(x)))[0]


MELS = {
    "open-mmlab/Amphion": _amphion,
    "openvpi/SingingVocoders": _singing_vocoders,
    "NVIDIA/NeMo": _nemo,
    "coqui-ai/TTS": _coqui("TTS"),
    "idiap/coqui-ai-TTS": _coqui("coqui-ai-TTS"),
    "kan-bayashi/ParallelWaveGAN": _parallel_wavegan,
    "jik876/hifi-gan": _hifigan("hifi-gan"),
    "NVIDIA/BigVGAN": _hifigan("BigVGAN"),
    "jaywalnut310/vits": _vits("vits/mel_processing.py"),
    "myshell-ai/MeloTTS": _vits("MeloTTS/melo/mel_processing.py"),
    "RVC-Boss/GPT-SoVITS": _vits("GPT-SoVITS/GPT_SoVITS/module/mel_processing.py"),
    "gemelo-ai/vocos": _vocos,
    "SWivid/F5-TTS": _f5_tts,
    # Its code has the settings as constants.
    "yl4579/StyleTTS2": _of_preset(lambda _: "styletts2"),
    "shivammehta25/Matcha-TTS": _of_preset(
        lambda path: {"vctk": "matcha-vctk", "ljspeech": "matcha"}.get(path.stem, "matcha-hi-fi-captain")
    ),
    "FunAudioLLM/CosyVoice": _of_preset(lambda path: path.stem),
    "r9y9/wavenet_vocoder": _wavenet_vocoder,
    "maum-ai/univnet": _univnet,
}
"""What makes the mel of a file in the code of its source, at the level of the samples."""


def difference(config: MelConfig, mel: Mel) -> float:
    """Return the largest difference on two seconds of noise that comes and goes, with silence."""
    t = np.arange(2 * config.sample_rate + 77) / config.sample_rate
    noise = np.random.default_rng(46).normal(0, 0.1, len(t))
    x = np.clip(noise * np.maximum(np.sin(7 * t), 0) ** 3, -1, 1).astype(np.float32)
    theirs = np.asarray(mel(x.astype(np.float64)))
    ours = mel_spectrogram(x, replace(config, peak=None)).T
    if theirs.shape != ours.shape:
        raise ValueError(f"[n_mels, n_frames] is {theirs.shape} there and {ours.shape} here")
    return float(np.abs(ours - theirs).max())


LIMIT = 2e-6


def without_preemphasis(path: Path, folder: Path) -> Path:
    """Write a configuration file into a folder again, with a pre-emphasis of 0, and return the new file."""
    written = folder / path.name
    text = re.sub(r'("preemphasis": *)[\d.]+', r"\g<1>0.0", path.read_text(encoding="utf-8"))
    written.write_text(text, encoding="utf-8")
    return written


REFUSED_BY_NAME = re.compile(r"a file of ([^:]+):")


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the configuration files of public systems.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    root = options.checkouts
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    wrong, counts, rows = [], Counter(), []
    print("| repository | files | equal to a preset | other mels | refused by name | not recognized | mels compared |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for source, (commit, systems) in SOURCES.items():
        found: Counter[str] = Counter()
        differences: list[float] = []
        without: list[float] = []
        listed: dict[str, str] = {}
        files = [path for kind in ("json", "yaml", "yml") for path in (root / source.split("/")[1]).rglob(f"*.{kind}")]
        for path in sorted(files):
            if not HAS_MEL.search(path.read_text(encoding="utf-8", errors="replace")):
                continue
            try:
                settings = read_vocoder_config(path)
            except TtsPrepError as error:
                named = REFUSED_BY_NAME.search(str(error))
                system = named[1] if named else None
                outcome = "refused" if named else "unknown"
            else:
                system = settings.system
                outcome = "preset" if settings.preset else "other"
                if source in MELS:
                    differences.append(difference(settings.mel, MELS[source](root, path)))
                    if differences[-1] > LIMIT and settings.mel.preemphasis:
                        with tempfile.TemporaryDirectory() as name:
                            plain = without_preemphasis(path, Path(name))
                            without.append(difference(read_vocoder_config(plain).mel, MELS[source](root, plain)))
            found[outcome] += 1
            listed[str(path.relative_to(root / source.split("/")[1]))] = outcome
            if system is not None and system not in systems:
                wrong.append(f"{path}: read as a file of {system}")
        cells = (
            f"{source} {commit}",
            found.total(),
            *(found[name] for name in ("preset", "other", "refused", "unknown")),
        )
        largest = max(differences, default=0.0)
        compared = f"{len(differences)}: {largest:.1e}" if differences else ""
        print(f"| {' | '.join(map(str, (*cells, compared)))} |")
        counts += found
        of_mels = {"compared": len(differences), "largest": largest}
        if without:
            of_mels["without_preemphasis"] = {"compared": len(without), "largest": max(without)}
        rows.append({"repository": source, "commit": commit, **of_mels, "files": listed})
    if options.write:
        value = {"wrong": len(wrong), "rows": rows}
        options.write.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    print(f"{counts.total()} files, {len(wrong)} read as those of another system", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
