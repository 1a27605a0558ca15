"""Compare mels of resampled recordings with those of the sources' own resamplers.

    python conformance/resampling.py CLIPS... --write docs/presets-resampled.json

CLIPS are recordings. Each is brought to five rates by soxr's best quality, read by tts-prep with the settings of a
preset, and by the resampler that its source calls; the mels of both are computed by the same code. The environment
needs torchaudio, librosa and the program ffmpeg. Two rows show presets with another resampler.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import librosa
import numpy as np
import soundfile
import soxr
import torch
import torchaudio

from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.audio.reading import read_waveform

RATES = (16_000, 22_050, 24_000, 44_100, 48_000)
Resampler = Callable[[np.ndarray, int, int], np.ndarray]


def by_transform(x: np.ndarray, rate: int, new: int) -> np.ndarray:
    return torchaudio.transforms.Resample(rate, new)(torch.from_numpy(x)).numpy()


def by_functional(x: np.ndarray, rate: int, new: int) -> np.ndarray:
    return torchaudio.functional.resample(torch.from_numpy(x), orig_freq=rate, new_freq=new).numpy()


def by_librosa(x: np.ndarray, rate: int, new: int) -> np.ndarray:
    return librosa.resample(x, orig_sr=rate, target_sr=new)


def by_librosa_double(x: np.ndarray, rate: int, new: int) -> np.ndarray:
    return librosa.resample(x.astype(np.float64), orig_sr=rate, target_sr=new).astype(np.float32)


def by_ffmpeg(x: np.ndarray, rate: int, new: int) -> np.ndarray:
    command = ["ffmpeg", "-v", "error", "-f", "f32le", "-ar", str(rate), "-ac", "1", "-i", "-"]
    done = subprocess.run(
        [*command, "-f", "f32le", "-ac", "1", "-ar", str(new), "-"], input=x.tobytes(), capture_output=True, check=True
    )
    return np.frombuffer(done.stdout, np.float32)


SOURCES: tuple[tuple[str, str, Resampler, str], ...] = (
    ("f5-tts", "F5-TTS `torchaudio.transforms.Resample`", by_transform, ""),
    ("f5-tts", "F5-TTS, with `resampler = \"soxr_hq\"`", by_transform, "soxr_hq"),
    *((name, "CosyVoice `torchaudio.transforms.Resample`", by_transform, "") for name in ("cosyvoice", "cosyvoice2")),
    ("cosyvoice3", "CosyVoice `torchaudio.transforms.Resample`", by_transform, ""),
    ("campplus", "CosyVoice `torchaudio.transforms.Resample`", by_transform, ""),
    ("vocos", "Vocos `torchaudio.functional.resample`", by_functional, ""),
    ("index-tts", "IndexTTS `torchaudio.transforms.Resample`", by_transform, ""),
    ("zipvoice", "lhotse `torchaudio.transforms.Resample`", by_transform, ""),
    ("tortoise", "Tortoise `torchaudio.functional.resample`", by_functional, ""),
    ("zonos-speaker", "Zonos `torchaudio.transforms.Resample`", by_transform, ""),
    ("speechain-tts", "SpeeChain's wave_downsampler.py, `torchaudio.transforms.Resample`", by_transform, ""),
    ("speechain-tts", "the same, with `resampler = \"soxr_hq\"`", by_transform, "soxr_hq"),
    ("styletts2", "StyleTTS2 `librosa.resample` of float64", by_librosa_double, ""),
    *(
        (f"bigvgan-{name}", "BigVGAN `librosa.resample`", by_librosa, "")
        for name in ("22k-80", "22k-80-fmax8k", "24k-100", "44k-128", "44k-128-256x")
    ),
    *(
        (f"nemo-{name}", "NeMo `librosa.resample`", by_librosa, "")
        for name in ("fastpitch", "fastpitch-44k", "hifigan", "hifigan-44k")
    ),
    *(
        (name, "`librosa.load`", by_librosa, "")
        for name in (
            *("parakeet", "parakeet-waveflow", "parakeet-fastspeech2", "parakeet-fastspeech2-24k", "coqui"),
            *("coqui-ljspeech", "melgan", "fish-speech", "chatterbox", "index-tts-2", "melotts", "vevo", "piper"),
        )
    ),
    *((name, "`ffmpeg -ar`", by_ffmpeg, "") for name in ("gpt-sovits-v3", "gpt-sovits-v4", "whisper-80")),
    ("whisper-128", "`ffmpeg -ar`", by_ffmpeg, ""),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", default="", help="names of presets; the file keeps its rows of others")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.wav"
        for name, source, theirs, resampler in SOURCES:
            if name not in (arguments.only.split(",") if arguments.only else [name]):
                continue
            preset = get_preset(name)
            # Resampling alone, without what scripts write.
            reading = replace(preset.reading, through=0, written="", **({"resampler": resampler} if resampler else {}))
            new = preset.config.sample_rate
            means, largest = {}, {}
            for rate in RATES:
                differences = []
                for clip in arguments.clips:
                    x, own = soundfile.read(clip, dtype="float32", always_2d=True)
                    x = x[:, 0] if own == rate else soxr.resample(x[:, 0], own, rate, quality="VHQ")
                    soundfile.write(path, x, rate, "FLOAT")
                    expected = theirs(x, rate, new) if rate != new else x
                    ours, other = (
                        mel_spectrogram(w, preset.config) for w in (read_waveform(path, new, reading), expected)
                    )
                    frames = min(len(ours), len(other))
                    assert abs(len(ours) - len(other)) <= 1
                    differences.append(np.abs(ours[:frames] - other[:frames]).ravel())
                every = np.concatenate(differences)
                means[rate], largest[rate] = float(every.mean()), float(every.max())
            rows.append({"preset": name, "source": source, "mean": means, "largest": largest})
            print(name, source, {rate: f"{means[rate]:.1e}/{largest[rate]:.1e}" for rate in RATES}, flush=True)
    if arguments.write:
        if arguments.only:
            made = {(row["preset"], row["source"]): row for row in rows}
            kept = json.loads(arguments.write.read_text(encoding="utf-8"))["rows"]
            made |= {
                (row["preset"], row["source"]): row for row in kept if row["preset"] not in arguments.only.split(",")
            }
            rows = [made[name, source] for name, source, _, _ in SOURCES]
        found = {"clips": len(arguments.clips), "rows": rows}
        arguments.write.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
