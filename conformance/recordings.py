"""Compare every preset with its source from the file on: reading, scripts, level, resampling and mel.

    python conformance/recordings.py CHECKOUTS [CLIPS...] --write docs/presets-recordings.json

CHECKOUTS is that of conformance/presets.py, whose mels these are. The environment needs torchaudio and the program
ffmpeg besides, of 7.0 or later: earlier ones resample recordings of 16 bits with filters of 16 bits. The script makes
100 recordings of 8 to 48 kHz: of one and two channels, clipped, above full scale, short, with silence, in 16, 24 and 32
bits and float32; a part of them from CLIPS, if there are any. The source reads each file by its own functions, but for
those of a line or two, which are repeated here; the command makes a store of them with the preset alone.

A source's resampler runs as it is. Where it computes in float32 itself (torchaudio's convolution, ffmpeg), it gets the
recording in float64 instead: what float32 rounds is noise, which the logarithm shows where there is almost no energy.

Where a mel differs by more than 2e-6, the cause is put to the test: our mel is made of the samples that the source had
for its own. What remains is the mel's difference; the rest is of single samples, which are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import scipy.io.wavfile
import soundfile
import soxr
import torch
import torchaudio
import yaml
from presets import DESCRIPTIONS, RECORDING, sources, take

from tts_prep.cli.main import main as tts_prep
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.mel import mel_spectrogram

RATES = (8_000, 11_025, 16_000, 22_050, 22_050, 24_000, 24_000, 32_000, 44_100, 48_000)
KINDS = ("PCM_16", "PCM_16", "PCM_16", "PCM_24", "PCM_32", "FLOAT")
Array = np.ndarray[Any, Any]
Reader = Callable[[Path], tuple[Array, int]]


LEFT_OUT = {
    "trimming": ("parakeet-fastspeech2", "parakeet-fastspeech2-24k", "fastspeech2", "coqui", "coqui-ljspeech", "piper"),
    "segments": ("hifigan", "istftnet", "fish-speech", *(name for name in DESCRIPTIONS if name.startswith("bigvgan"))),
    "level": ("vocos", "melgan"),
    "padding": ("whisper-80", "whisper-128"),
    "trimming, filter": ("wavenet-vocoder",),
}
"""What a source does besides, which chance or another setting decides → presets."""

LIMIT = 2e-6
_LAST_BIT = "`written`: another last bit of 16, where float32 had another one before"
CAUSES = {
    **dict.fromkeys(("whisper-80", "whisper-128", "gpt-sovits-v3", "gpt-sovits-v4"), _LAST_BIT),
    **dict.fromkeys(("speechain-tts", "speechain-conventional-tts"), _LAST_BIT),
    "fish-speech": "`peak_mode`: the original rounds what it has scaled to float32",
}
"""Why a preset differs by more than `LIMIT`: the setting, and what of it."""


class NotReadError(Exception):
    """The source does not take such a recording; the argument says which."""


def voice(seconds: float, rate: int, rng: np.random.Generator) -> Array:
    """Return something like speech: harmonics of a gliding pitch under moving formants, and noise, [n] float64."""
    n = int(seconds * rate)
    t = np.arange(n) / rate
    phase = 2 * np.pi * np.cumsum(rng.uniform(90, 220) * (1 + 0.2 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * t))) / rate
    sound = np.zeros(n)
    for k in range(1, 30):
        formants = sum(np.exp(-(((k * 150 - f) / 250) ** 2)) for f in (600 + 200 * np.sin(3 * t), 1_500, 2_600))
        sound += (formants + 0.01) * np.sin(k * phase) * (k * 220 < rate / 2)
    loudness = np.clip(np.sin(2 * np.pi * rng.uniform(1, 4) * t + rng.uniform(0, 6)), 0, None) + 0.01
    sound = sound * loudness + rng.normal(0, 0.01, n)
    return sound / np.abs(sound).max() * 10 ** rng.uniform(-1, -0.1)


def make_recordings(folder: Path, clips: list[Path]) -> list[Path]:
    """Write the recordings, and return their paths."""
    rng = np.random.default_rng(46)
    made = []
    for i in range(100):
        rate, kind = RATES[i % len(RATES)], KINDS[(i // len(RATES)) % len(KINDS)]
        form = ("whole", "whole", "stereo", "clipped", "short", "paused", "stereo", "above", "whole", "quiet")[i // 10]
        seconds = rng.uniform(0.06, 0.3) if form == "short" else rng.uniform(0.8, 2.0)
        if clips and i % 3 == 0:
            sound, own = soundfile.read(clips[i // 3 % len(clips)], always_2d=True)
            sound = soxr.resample(sound[: int(seconds * own), 0], own, rate, quality="VHQ")
        else:
            sound = voice(seconds, rate, rng)
        if form == "stereo":
            sound = np.stack(
                [sound, 0.5 * np.roll(sound, 20) + 0.1 * voice(len(sound) / rate + 0.01, rate, rng)[: len(sound)]], 1
            )
        elif form == "clipped":
            sound = np.clip(sound * 4, -1, 1)
        elif form == "above":
            sound, kind = sound / np.abs(sound).max() * 1.6, "FLOAT"
        elif form == "paused":
            sound[len(sound) // 3 : len(sound) // 2] = 0
        elif form == "quiet":
            sound = sound * 1e-3 if i % 10 < 8 else np.zeros(len(sound))
        path = folder / f"{i:03d}-{form}-{kind}-{rate}.wav"
        soundfile.write(path, sound, rate, kind)
        made.append(path)
    return made


def by_soundfile(path: Path) -> tuple[Array, int]:
    """Return [n] or [n, channels] float32."""
    return soundfile.read(path, dtype="float32")


def load(path: Any, **_: Any) -> tuple[torch.Tensor, int]:
    """Return what torchaudio.load does without torchcodec: [channels, n] float32, here as float64."""
    x, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(x.T.astype(np.float64)), rate


class Resample(torchaudio.transforms.Resample):
    """torchaudio's transform, whose filter and result are of float32, and whose convolution is in float64."""

    def __init__(self, orig_freq: int, new_freq: int) -> None:
        torch.set_default_dtype(torch.float32)
        super().__init__(orig_freq, new_freq)
        torch.set_default_dtype(torch.float64)
        if orig_freq != new_freq:
            self.kernel = self.kernel.double()

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        return super().forward(waveform).float().double()


AUDIO = types.SimpleNamespace(
    load=load,
    transforms=types.SimpleNamespace(Resample=Resample),
    functional=types.SimpleNamespace(resample=lambda x, orig_freq, new_freq: Resample(orig_freq, new_freq)(x)),
)


def speechain_script(root: Path) -> Callable[[Path, Path], Path]:
    """Return what writes a recording into a folder at 22,050 Hz, by SpeeChain's script, and returns the file."""

    def read_data(path: str, **_: Any) -> tuple[torch.Tensor, int]:
        x, rate = load(path)
        return x.T, rate

    written_by = types.SimpleNamespace(
        default_subtype=soundfile.default_subtype,
        write=lambda data, **given: soundfile.write(data=np.asarray(data, np.float32), **given),
    )
    downsample = take(
        root / "SpeeChain/datasets/pyscripts/wave_downsampler.py", "waveform_downsample",
        torchaudio=AUDIO, sf=written_by, tqdm=lambda x: x, read_data_by_path=read_data,
    )  # fmt: skip

    def write(path: Path, folder: Path) -> Path:
        found = soundfile.info(path)
        if found.channels > 1:
            raise NotReadError("two channels")
        if found.samplerate < 22_050:
            raise NotReadError("a lower rate, which it takes for its own")
        return Path(downsample.waveform_downsample([["a", str(path), None]], str(folder), 22_050)[0][1])

    return write


def readers(root: Path) -> dict[str, Reader]:
    """Return what reads a recording as a preset's source does, for its mel of conformance/presets.py."""

    def rate_of(preset: str) -> int:
        return DESCRIPTIONS[preset].config.sample_rate

    def at_own_rate(preset: str, read: Callable[[Path], tuple[Array, int]], *, bits: bool = True) -> Reader:
        """A loader of one channel, which refuses other rates, and takes all samples for ones of 16 bits."""

        def found(path: Path) -> tuple[Array, int]:
            x, rate = read(path)
            if rate != rate_of(preset):
                raise NotReadError("another rate")
            if x.ndim > 1:
                raise NotReadError("two channels")
            if bits and x.dtype != np.int16:
                raise NotReadError("not 16 bits")
            return (x.astype(np.float64) / (1 if x.dtype == np.float32 else 32768)).astype(np.float32), rate

        return found

    def by_scipy(path: Path) -> tuple[Array, int]:
        rate, x = scipy.io.wavfile.read(path)
        return x, rate

    def by_librosa(rate: int) -> Reader:
        return lambda path: librosa.load(path, sr=rate)

    def by_librosa_at_own_rate(preset: str) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            x, rate = librosa.load(path, sr=None)
            if rate != rate_of(preset):
                raise NotReadError("another rate")
            return x, rate

        return found

    def one_channel(x: Array) -> Array:
        if x.ndim > 1 and x.shape[1] > 1:
            raise NotReadError("two channels")
        return x

    def resampled_by_librosa(preset: str) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            x, rate = by_soundfile(path)
            x = one_channel(x)
            return (
                x if rate == rate_of(preset) else librosa.resample(x, orig_sr=rate, target_sr=rate_of(preset))
            ), rate

        return found

    def of_tensor(preset: str, function: Callable[[torch.Tensor, int], torch.Tensor]) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            return function(*load(path)).squeeze(0).numpy(), rate_of(preset)

        return found

    def resampled(preset: str) -> Reader:
        return of_tensor(preset, lambda x, rate: Resample(rate, rate_of(preset))(x.mean(dim=0, keepdim=True)))

    given = {"torchaudio": AUDIO, "BytesIO": io.BytesIO, "online_feature": False}
    processor = take(root / "CosyVoice/cosyvoice/dataset/processor.py", "filter", "resample", **given)

    def cosyvoice(preset: str) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            sample = {"audio_data": path.read_bytes(), "text_token": [1] * 5, "speech_token": [1]}
            kept = list(
                processor.resample(
                    processor.filter([sample], min_length=0, token_min_length=0, min_output_input_ratio=0),
                    rate_of(preset),
                )
            )
            if not kept:
                raise NotReadError("below 16,000 Hz")
            return kept[0]["speech"].squeeze(0).numpy(), rate_of(preset)

        return found

    def read_wide(path: str) -> tuple[int, Array]:
        """Return float64 instead of float32; integers of 32 bits are rounded to float32, as the source does."""
        rate, x = scipy.io.wavfile.read(path)
        if x.dtype == np.int32:
            x = np.minimum(x.astype(np.float32), np.float32(2**31 - 128)).astype(np.int32)
        return rate, x.astype(np.float64) if x.dtype == np.float32 else x

    loaders = ("load_audio", "load_wav_to_torch")
    tortoise = take(root / "tortoise-tts/tortoise/utils/audio.py", *loaders, read=read_wide, torchaudio=AUDIO)

    def of_tortoise(rate: int) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            with contextlib.redirect_stdout(io.StringIO()):
                x = tortoise.load_audio(str(path), 22_050)
            return (x if rate == 22_050 else AUDIO.functional.resample(x, 22_050, rate)).squeeze(0).numpy(), rate

        return found

    def ffmpeg(form: str) -> Callable[..., Array]:
        """Run the command of a source's load_audio; what is to be resampled is given, and taken, in float64."""

        def run(path: Any, rate: int) -> Array:
            info = soundfile.info(path)
            given, data, to = ["-i", str(path)], b"", form
            if info.samplerate != rate:
                data = soundfile.read(path)[0].tobytes()
                given = ["-f", "f64le", "-ar", str(info.samplerate), "-ac", str(info.channels), "-i", "-"]
                # The sum of two channels is halved for integers alone.
                to = "s32le" if form == "s16le" else "f64le"
            command = [
                "ffmpeg",
                "-v",
                "error",
                *given,
                "-f",
                to,
                "-ac",
                "1",
                "-acodec",
                f"pcm_{to}",
                "-ar",
                str(rate),
                "-",
            ]
            done = subprocess.run(command, input=data, capture_output=True, check=True)
            kind = {"f32le": np.float32, "f64le": np.float64, "s16le": np.int16, "s32le": np.int32}[to]
            x = np.frombuffer(done.stdout, kind).astype(np.float32)
            if to == "s32le":
                # Its last step, from float32 to 16 bits.
                x = np.clip(np.rint(x / np.float32(65536)), -32768, 32767)
            return x / np.float32(32768) if form == "s16le" else x

        return run

    def whisper(path: Path) -> tuple[Array, int]:
        return ffmpeg("s16le")(path, 16_000), 16_000

    def gpt_sovits(rate: int) -> Reader:
        written: list[Array] = []
        none = types.SimpleNamespace(model=lambda _: {"last_hidden_state": torch.zeros(1, 1, 1)})
        script = take(
            root / "GPT-SoVITS/GPT_SoVITS/prepare_datasets/2-get-hubert-wav32k.py", "maxx", "alpha", "name2go",
            load_audio=ffmpeg("f32le"), librosa=librosa,
            wavfile=types.SimpleNamespace(write=lambda _, __, samples: written.append(samples)),
            **dict.fromkeys(("hubert_dir", "wav32dir"), ""), device="cpu", is_half=False, model=none,
            my_save=lambda *_: None, nan_fails=[],
        )  # fmt: skip

        def found(path: Path) -> tuple[Array, int]:
            written.clear()
            script.name2go("", path)
            if not written:
                raise NotReadError("a peak above 2.2")
            if rate == 32_000:
                return written[0].astype(np.float64) / 32768, rate
            with tempfile.TemporaryDirectory() as folder:
                scipy.io.wavfile.write(Path(folder) / "a.wav", 32_000, written[0])
                return ffmpeg("f32le")(Path(folder) / "a.wav", rate), rate

        return found

    prepare_align = take(
        root / "FastSpeech2/preprocessor/ljspeech.py", "prepare_align", wavfile=scipy.io.wavfile, tqdm=lambda x: x,
        _clean_text=lambda text, _: text,
        librosa=types.SimpleNamespace(load=lambda path, sr: librosa.load(path, sr=sr)),
    ).prepare_align  # fmt: skip

    def fastspeech2(path: Path) -> tuple[Array, int]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "wavs").mkdir()
            (folder / "wavs/a.wav").write_bytes(path.read_bytes())
            (folder / "metadata.csv").write_text("a|Text.|Text.\n")
            config = yaml.safe_load((root / "FastSpeech2/config/LJSpeech/preprocess.yaml").read_text())
            config["path"] = {"corpus_path": name, "raw_path": str(folder / "raw")}
            prepare_align(config)
            # The first line of process_utterance.
            return librosa.load(folder / "raw/LJSpeech/a.wav")

    write_by_speechain = speechain_script(root)

    def speechain(path: Path) -> tuple[Array, int]:
        with tempfile.TemporaryDirectory() as name:
            return soundfile.read(write_by_speechain(path, Path(name)), dtype="float32")

    load_wav = take(
        root / "wavenet_vocoder/audio.py",
        "load_wav",
        wavfile=scipy.io.wavfile,
        hparams=types.SimpleNamespace(sample_rate=22_050),
        librosa=types.SimpleNamespace(resample=lambda x, a, b: librosa.resample(x, orig_sr=a, target_sr=b)),
    ).load_wav

    def wavenet_vocoder(path: Path) -> tuple[Array, int]:
        x, _ = by_scipy(path)
        if x.ndim > 1:
            raise NotReadError("two channels")
        if x.dtype == np.int32:
            raise NotReadError("not 16 bits or float")
        return load_wav(path), 22_050

    fish = take(root / "fish-speech/fish_speech/datasets/vqgan.py", "VQGANDataset", Dataset=object, librosa=librosa)

    def fish_speech(path: Path) -> tuple[Array, int]:
        item = fish.VQGANDataset.get_item(types.SimpleNamespace(files=[path], sample_rate=44_100, slice_frames=None), 0)
        return item["audio"].numpy(), 44_100

    read_wav_np = take(root / "univnet/utils/utils.py", "read_wav_np", read=scipy.io.wavfile.read).read_wav_np

    def univnet(path: Path) -> tuple[Array, int]:
        rate, x = read_wav_np(path)
        x = x.astype(np.float32)
        if rate != 24_000:
            raise NotReadError("another rate")
        # The first lines of my_getitem.
        return np.pad(x, (0, max(0, 16384 + 2000 - len(x)))), rate

    def bigvgan(preset: str) -> Reader:
        def found(path: Path) -> tuple[Array, int]:
            x, own = librosa.load(path, sr=None, mono=True)
            rate = rate_of(preset)
            return (x if own == rate else librosa.resample(x, orig_sr=own, target_sr=rate)), rate

        return found

    def styletts2(path: Path) -> tuple[Array, int]:
        x, rate = soundfile.read(path)
        # preprocess rounds to float32, which is not done for what is resampled: that is noise.
        return (x.astype(np.float32).astype(np.float64) if rate == 24_000 else x), rate

    found: dict[str, Reader] = {
        "parakeet": by_librosa(22_050), "parakeet-wavenet": by_librosa_at_own_rate("parakeet-wavenet"),
        "parakeet-waveflow": by_librosa_at_own_rate("parakeet-waveflow"),
        "parakeet-fastspeech2": by_librosa(22_050), "parakeet-fastspeech2-24k": by_librosa(24_000),
        "styletts2": styletts2, "fastspeech2": fastspeech2, "melgan": by_librosa(22_050), "fish-speech": fish_speech,
        "chatterbox": by_librosa(24_000), "index-tts-2": by_librosa(22_050), "melotts": by_librosa(44_100),
        "vevo": by_librosa(24_000), "piper": by_librosa(22_050), "coqui": by_librosa(22_050),
        "coqui-ljspeech": by_librosa(22_050), "univnet": univnet, "wavenet-vocoder": wavenet_vocoder,
        "tortoise": of_tortoise(22_050), "tortoise-diffusion": of_tortoise(24_000), "whisper-80": whisper,
        "whisper-128": whisper, "gpt-sovits-v3": gpt_sovits(24_000), "gpt-sovits-v4": gpt_sovits(32_000),
        "speechain-tts": speechain, "speechain-conventional-tts": speechain,
    }  # fmt: skip
    for name in ("tacotron2", "fastpitch", "hifigan-unscaled", "vits"):
        found[name] = at_own_rate(name, by_scipy)
    for name in ("hifigan", "istftnet"):
        found[name] = at_own_rate(name, lambda path: by_scipy(path), bits=False)
    for name in (
        "matcha",
        "matcha-vctk",
        "matcha-hi-fi-captain",
        "speechbrain-tacotron2",
        "speechbrain-hifigan",
        "espnet2-tts",
        "speecht5",
    ):
        found[name] = at_own_rate(name, by_soundfile, bits=False)
    for name in (
        "bigvgan-22k-80",
        "bigvgan-22k-80-fmax8k",
        "bigvgan-24k-100",
        "bigvgan-44k-128",
        "bigvgan-44k-128-256x",
    ):
        found[name] = bigvgan(name)
    for name in ("nemo-fastpitch", "nemo-fastpitch-44k", "nemo-hifigan", "nemo-hifigan-44k"):
        found[name] = resampled_by_librosa(name)
    for name in ("vocos", "f5-tts", "index-tts", "zonos-speaker", "campplus", "zipvoice"):
        found[name] = resampled(name)
    for name in ("cosyvoice", "cosyvoice2", "cosyvoice3"):
        found[name] = cosyvoice(name)
    return found


def make_store(preset: str, recordings: list[Path], folder: Path) -> UtteranceDataset:
    """Return the command's store of the recordings."""
    listed = folder / "list.txt"
    listed.write_text("".join(f"{path}|{path.stem}\n" for path in recordings), encoding="utf-8")
    store = folder / f"store-{preset}"
    options = (
        "--columns",
        "path|id",
        "--frontend",
        "none",
        "--preset",
        preset,
        "--waveform",
        "float32",
        "--jobs",
        "1",
        "--quiet",
        "--max-failures",
        "100%",
    )
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            status = tts_prep(["filelist", str(listed), str(store), *options])
        except SystemExit as end:
            status = end.code
    if not (store / "manifest.json").exists():
        raise SystemExit(f"{preset}: {status} {said.getvalue()}")
    return UtteranceDataset(store)


def silent(path: Path) -> bool:
    return not soundfile.read(path)[0].any()


def compare(preset: str, read: Reader, mel: Any, recordings: list[Path], store: UtteranceDataset) -> dict[str, Any]:
    """Return how many recordings were compared, the largest differences, and what either side left out."""
    config = DESCRIPTIONS[preset].config
    places = {uid: i for i, uid in enumerate(store.id)}
    given_theirs, n_samples, others, apart = 0.0, 0, 0, 0.0
    largest, which, not_read, left_out, compared = 0.0, "", Counter[str](), Counter[str](), 0
    for path in recordings:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                RECORDING.samples, RECORDING.rate = read(path)
                theirs = np.asarray(mel(np.asarray(RECORDING.samples, np.float64)))
            if not np.isfinite(theirs).all():
                raise NotReadError("not finite there")
        except NotReadError as error:
            not_read[str(error)] += 1
            continue
        except (RuntimeError, ValueError, AssertionError, librosa.ParameterError) as error:
            short = "Padding size" in str(error) or "padding" in str(error).lower() or "too small" in str(error)
            above = isinstance(error, AssertionError) and np.abs(RECORDING.samples).max() > 1
            reason = "too short" if short else "above full scale" if above else repr(error)[:80]
            not_read["silence" if silent(path) else reason] += 1
            continue
        if path.stem not in places:
            left_out["silent" if silent(path) else "other"] += 1
            continue
        ours = store[places[path.stem]].mel.T
        if ours.shape != theirs.shape:
            raise ValueError(f"{preset}: {path.stem} has the shape {theirs.shape} there and {ours.shape} here")
        difference = float(np.abs(ours - theirs).max())
        samples = np.asarray(RECORDING.samples, np.float32)
        if difference > LIMIT:
            given_theirs = max(given_theirs, float(np.abs(mel_spectrogram(samples, config).T - theirs).max()))
        waveform = store[places[path.stem]].waveform
        if waveform.shape == samples.shape:
            between = np.abs(waveform - samples)
            n_samples += len(samples)
            others, apart = others + int((between > 1e-5).sum()), max(apart, float(between.max()))
        compared += 1
        if difference > largest:
            largest, which = difference, path.stem
    return {
        "besides": next((word for word, presets in LEFT_OUT.items() if preset in presets), ""),
        "cause": CAUSES.get(preset, ""),
        "compared": compared,
        "largest": largest,
        "of": which,
        "given_theirs": given_theirs,
        "samples": {"compared": n_samples, "others": others, "largest": apart},
        "not_read": dict(not_read),
        "left_out": dict(left_out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare presets with their sources from the file on.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("clips", type=Path, nargs="*")
    parser.add_argument("--only", nargs="*", help="presets")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    rows = []
    read = readers(options.checkouts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wavs").mkdir()
        recordings = make_recordings(folder / "wavs", options.clips)
        stores: dict[str, UtteranceDataset] = {}
        for preset, source, make in sources(options.checkouts):
            if preset not in read or (options.only and preset not in options.only):
                continue
            try:
                if preset not in stores:
                    stores[preset] = make_store(preset, recordings, folder)
                row = {
                    "preset": preset,
                    "source": source,
                    **compare(preset, read[preset], make(), recordings, stores[preset]),
                }
            except Exception as error:
                print(preset, repr(error)[:300], flush=True)
                continue
            rows.append(row)
            print(
                preset,
                row["compared"],
                f"{row['largest']:.1e}",
                row["of"],
                f"{row['given_theirs']:.1e}",
                row["samples"],
                row["not_read"],
                row["left_out"],
                flush=True,
            )
    if options.write:
        options.write.write_text(json.dumps({"recordings": 100, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
