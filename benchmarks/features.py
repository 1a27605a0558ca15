"""Time features on one core against plain scripts over pyworld and librosa, and print a markdown table.

    python benchmarks/features.py --runs 5 [CLIP.wav …]

All take turns on the same clips, in memory; numbers are seconds of one core for an hour of audio, medians over the
runs. The last line is what energy adds to reading a clip, making its mel and writing it, in turns.
"""

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import librosa
import numpy as np
import pyworld
import soundfile

from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.reading import ReadingConfig, read_waveform
from tts_prep.signals.pitch import PitchConfig, pitch_of
from tts_prep.signals.spectrograms import SpectrogramConfig, SpectrogramFeature

RATE, HOP, N_FFT = 22_050, 256, 1024
PERIOD = 1000 * HOP / RATE
MEL = PRESETS["tacotron2"]


def voiced_clips(count: int, seconds: float) -> list[np.ndarray]:
    """Return clips of gliding harmonics with noise, float32."""
    rng = np.random.default_rng(0)
    clips = []
    for _ in range(count):
        t = np.arange(round(seconds * RATE)) / RATE
        phase = 2 * np.pi * (rng.uniform(90, 200) * t + 20 * np.sin(2 * t))
        voice = sum(np.sin(k * phase) / k for k in range(1, 12)) * (np.sin(2 * np.pi * 1.5 * t) > -0.5)
        clips.append((0.1 * voice + 0.003 * rng.standard_normal(len(t))).astype(np.float32))
    return clips


def world(clip: np.ndarray, algorithm: str) -> object:
    x = clip.astype(np.float64)
    if algorithm == "harvest":
        return pyworld.harvest(x, RATE, frame_period=PERIOD)
    values, times = pyworld.dio(x, RATE, frame_period=PERIOD)
    return pyworld.stonemask(x, values, times, RATE)


def contenders() -> dict[str, Callable[[np.ndarray], object]]:
    mel, linear = MelExtractor(MEL), SpectrogramFeature.of(SpectrogramConfig(), MEL)
    low, high = librosa.note_to_hz("C2"), librosa.note_to_hz("C7")
    return {
        "mel": mel,
        "mel and energy": mel.with_energy,
        "energy: librosa": lambda clip: np.linalg.norm(np.abs(librosa.stft(clip, n_fft=N_FFT, hop_length=HOP)), axis=0),
        "spectrogram": linear.magnitudes,
        "spectrogram: librosa": lambda clip: np.abs(librosa.stft(clip, n_fft=N_FFT, hop_length=HOP)),
        "pitch dio": lambda clip: pitch_of(clip, MEL, PitchConfig("dio")),
        "pitch dio: pyworld": lambda clip: world(clip, "dio"),
        "pitch harvest": lambda clip: pitch_of(clip, MEL, PitchConfig("harvest")),
        "pitch harvest: pyworld": lambda clip: world(clip, "harvest"),
        "pitch pyin": lambda clip: pitch_of(clip, MEL, PitchConfig("pyin")),
        "pitch pyin: librosa": lambda clip: librosa.pyin(clip, fmin=low, fmax=high, sr=RATE, frame_length=N_FFT),
    }


def whole_row(path: Path, extractor: MelExtractor, folder: Path, *, energy: bool) -> None:
    """Read a recording, make its mel, and write it: what a run does for each row, less the text."""
    waveform = read_waveform(path, RATE, ReadingConfig())
    arrays = extractor.with_energy(waveform) if energy else (extractor(waveform),)
    with (folder / "rows.bin").open("wb") as file:
        for array in arrays:
            file.write(array.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=["energy", "world", "all"], default="all", help="leave out what is slow")
    options = parser.parse_args()
    clips = [read_waveform(path, RATE, ReadingConfig()) for path in options.clips] or voiced_clips(3, 4.0)
    hours = sum(map(len, clips)) / RATE / 3600
    times: dict[str, list[float]] = {}
    slow = {"energy": ("pitch",), "world": ("pyin",), "all": ()}[options.only]
    todo = {name: run for name, run in contenders().items() if not any(word in name for word in slow)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soundfile.write(folder / "a.wav", clips[0], RATE)
        extractor = MelExtractor(MEL)
        rows: dict[bool, list[float]] = {False: [], True: []}
        for number in range(options.runs + 1):
            for what, run in todo.items():
                begun = time.perf_counter()
                for clip in clips:
                    run(clip)
                if number:  # the first one compiles
                    times.setdefault(what, []).append(time.perf_counter() - begun)
            for turn in range(100):
                for energy in (turn % 2 == 0, turn % 2 == 1):
                    begun = time.perf_counter()
                    whole_row(folder / "a.wav", extractor, folder, energy=energy)
                    rows[energy].append(time.perf_counter() - begun)
    print("| | seconds for an hour of audio |\n| --- | --- |")
    for what, found in times.items():
        print(f"| {what} | {statistics.median(found) / hours:,.2f} |")
    without, with_energy = (statistics.median(rows[energy]) for energy in (False, True))
    print(f"\nenergy in reading, making and writing a clip: {with_energy / without - 1:+.1%}")


if __name__ == "__main__":
    main()
