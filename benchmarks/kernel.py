"""Time the mel kernel on one core against librosa and torch, and the floors under it, and print a markdown table.

    python benchmarks/kernel.py --runs 15 [--result kernel]
    python benchmarks/kernel.py --runs 15 --n-fft 400 480 512 960 1094 1102 1200 1920 2048 [--result kernel-lengths]

With ``--n-fft``, the table has a row for each length, with a hop of a quarter of it.

The contenders take turns on the same clips, in memory; speeds are multiples of real time, medians over the runs. The
floors are the parts that cannot be left out: a library's transform alone, decoding alone, writing alone, checksums.
"""

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import hashlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import librosa
import numpy as np
import scipy.fft
import soundfile
from results import Result, describe_machine

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import n_frames, pad_waveform
from tts_prep.preprocess.audio.mel import MelExtractor, _plain_frames, mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.reading import read_waveform

RATE = 22_050
CLIPS = 12

Mel = Callable[[np.ndarray], object]
Clock = Callable[[], float]


def make_clips() -> list[np.ndarray]:
    """Return clips of 3 to 10 seconds of noise with a speech-like slope, float32."""
    rng = np.random.default_rng(0)
    clips = []
    for seconds in np.linspace(3, 10, CLIPS):
        noise = rng.standard_normal(round(seconds * RATE))
        clips.append((0.2 * np.convolve(noise, [1, 0.9, 0.5], "same")).clip(-1, 1).astype(np.float32))
    return clips


def librosa_mel(n_fft: int, hop: int) -> Mel:
    """Return librosa.stft and one filter bank."""
    bank = librosa.filters.mel(sr=RATE, n_fft=n_fft, n_mels=80, fmin=0, fmax=8000)

    def mel(x: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(bank @ np.abs(librosa.stft(x, n_fft=n_fft, hop_length=hop, pad_mode="reflect")), 1e-5))

    return mel


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def torch_mel(n_fft: int, hop: int) -> Mel:
    """Return torch.stft and one filter bank."""
    import torch

    torch.set_num_threads(1)
    bank = torch.from_numpy(librosa.filters.mel(sr=RATE, n_fft=n_fft, n_mels=80, fmin=0, fmax=8000))
    window = torch.hann_window(n_fft)

    def mel(x: np.ndarray) -> object:
        spectrum = torch.stft(torch.from_numpy(x), n_fft, hop, window=window, pad_mode="reflect", return_complex=True)
        # Three times as fast as abs() of a complex tensor.
        magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square())
        return torch.log(torch.clamp(bank @ magnitude, min=1e-5))

    return mel


def by_length(n_fft: int) -> dict[str, Mel]:
    """Return what makes the same mel with an n_fft: ours, librosa's, torch's if it is installed, ours without numba."""
    hop = n_fft // 4
    config = MelConfig(n_fft=n_fft, win_length=n_fft, hop_length=hop)

    def plain(x: np.ndarray) -> np.ndarray:
        # The kernel of machines without the compiler.
        out = np.empty((n_frames(len(x), config), config.n_mels), np.float32)
        extractor = MelExtractor(config)
        _plain_frames(pad_waveform(x, config), extractor._window, config, extractor.filter_bank, out, np.empty(0))
        return config.compression.transform_in_place(out)

    made = {"ours": lambda x: mel_spectrogram(x, config), "librosa": librosa_mel(n_fft, hop)}
    if has_torch():
        made["torch"] = torch_mel(n_fft, hop)
    return {**made, "plain": plain}


def in_turn(rows: Mapping[str, Mel], clips: list[np.ndarray], runs: int, clock: Clock) -> dict[str, list[float]]:
    """Return the seconds of all clips by row, of each round but the first, which compiles and fills caches."""
    times: dict[str, list[float]] = {label: [] for label in rows}
    for run in range(runs + 1):
        for label, function in rows.items():
            start = clock()
            for clip in clips:
                function(clip)
            if run:
                times[label].append(clock() - start)
    return times


def by_lengths(lengths: list[int], clips: list[np.ndarray], runs: int) -> Result:
    """Return speeds and ratios for each n_fft, medians."""
    seconds = sum(map(len, clips)) / RATE
    table = []
    measured: dict[str, float] = {}
    others = {"librosa": "librosa's time to ours", "torch": "torch's", "plain": "ours without a compiler"}
    if not has_torch():
        del others["torch"]
        print("torch is not installed: the table has no column of its times", flush=True)
    names = {"ours": "tts-prep", **{label: label for label in others if label != "plain"}}
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in names.values()}
    for n_fft in lengths:
        times = in_turn(by_length(n_fft), clips, runs, time.process_time)
        ratios = [
            statistics.median(t / our for t, our in zip(times[label], times["ours"], strict=True)) for label in others
        ]
        measured[str(n_fft)] = statistics.median(times["ours"])
        for label, name in names.items():
            speeds[name].append((n_fft, seconds / statistics.median(times[label])))
        table.append([str(n_fft), f"{seconds / measured[str(n_fft)]:,.0f}", *(f"{ratio:.2f}" for ratio in ratios)])
        print(*table[-1], flush=True)
    return Result(
        ["n_fft", "times real time", *others.values()],
        table,
        measured,
        f"{len(clips)} clips of 3 to 10 seconds in memory, {RATE:,} Hz, hop n_fft / 4, 80 bins, one core, processor "
        f"time, medians of {runs} rounds in turn.",
        describe_machine(),
        numbers={"speeds": speeds},
    )


def scaled(mel: Mel) -> Mel:
    """Return a mel of the clip at a peak of 0.999, as ours is."""
    return lambda x: mel(x / np.abs(x).max() * np.float32(0.999))


def contenders() -> dict[str, Mel]:
    config = PRESETS["parakeet"]

    def melspectrogram(x: np.ndarray) -> np.ndarray:
        mel = librosa.feature.melspectrogram(
            y=x, sr=RATE, n_fft=1024, hop_length=256, n_mels=80, fmax=8000, power=1, pad_mode="reflect"
        )
        return np.log(np.maximum(mel, 1e-5))

    rows = {
        "tts-prep (float64 transform)": lambda x: mel_spectrogram(x, config),
        "librosa.feature.melspectrogram": scaled(melspectrogram),
        "librosa.stft and one filter bank": scaled(librosa_mel(1024, 256)),
    }
    if has_torch():
        rows["torch.stft and one filter bank"] = scaled(torch_mel(1024, 256))
    return rows


def floors(folder: Path, clips: list[np.ndarray]) -> dict[str, Mel]:
    names = {}
    for number, clip in enumerate(clips):
        names[id(clip)] = folder / f"{number}.wav"
        soundfile.write(names[id(clip)], clip, RATE)
    frames = {
        (id(clip), dtype): np.ascontiguousarray(
            np.lib.stride_tricks.sliding_window_view(np.pad(clip, 512), 1024)[::256], dtype
        )
        for clip in clips
        for dtype in (np.float32, np.float64)
    }
    mels = {id(clip): mel_spectrogram(clip, PRESETS["parakeet"]) for clip in clips}

    def transform(clip: np.ndarray, dtype: type) -> None:
        block = frames[id(clip), dtype]
        for first in range(0, len(block), 64):
            scipy.fft.rfft(block[first : first + 64])

    return {
        "scipy's transform alone, float32": lambda x: transform(x, np.float32),
        "scipy's transform alone, float64": lambda x: transform(x, np.float64),
        "opening and decoding 16-bit PCM": lambda x: read_waveform(names[id(x)], RATE),
        "writing the mel to a file in the page cache": lambda x: mels[id(x)].tofile(folder / "mel"),
        "SHA-256 of the mel": lambda x: hashlib.sha256(mels[id(x)]).digest(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the mel kernel and the floors under it, on one core.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--n-fft", type=int, nargs="+", help="compare these lengths")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    runs = options.runs
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    clips = make_clips()
    if options.n_fft:
        by_lengths(options.n_fft, clips, runs).show(options.result)
        return
    seconds = sum(map(len, clips)) / RATE
    with tempfile.TemporaryDirectory() as name:
        times = in_turn(contenders() | floors(Path(name), clips), clips, runs, time.perf_counter)
    ours = times["tts-prep (float64 transform)"]
    table = []
    for label, found in times.items():
        speeds = [seconds / t for t in found]
        ratio = statistics.median(t / our for t, our in zip(found, ours, strict=True))
        speed = f"{statistics.median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"
        table.append([label, speed, f"{ratio:.2f}"])
    Result(
        ["", "times real time: median (min to max)", "its seconds to tts-prep's"],
        table,
        {label: statistics.median(found) for label, found in times.items()},
        f"{CLIPS} clips of 3 to 10 seconds in memory, {RATE:,} Hz, n_fft 1024, hop 256, 80 bins, one core, {runs} "
        "rounds in turn.",
        describe_machine(),
    ).show(options.result)


if __name__ == "__main__":
    main()
