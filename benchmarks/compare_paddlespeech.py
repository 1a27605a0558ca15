"""Compare PaddleSpeech's pitch and energy for FastSpeech 2 with the features here; print a markdown table.

    python benchmarks/compare_paddlespeech.py PADDLESPEECH CLIP.wav…

The classes Pitch and Energy of paddlespeech/t2s/datasets/get_feats.py are taken out of the file and run as they are,
with ``np.float``, which numpy no longer has, as ``float``. The clips are at 22,050 Hz; durations are random.
"""

from __future__ import annotations

import random
import sys
import types
from pathlib import Path

import librosa
import numpy as np
import pyworld
import soundfile
from scipy.interpolate import interp1d
from taken import taken

from tts_prep.loader.features import average_by_duration
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.features.pitch import PitchConfig, pitch_of

MEL = PRESETS["parakeet-fastspeech2"]
SETTINGS = PitchConfig(floor=80, ceiling=7600, unvoiced="interpolated", unit="ln_hz")


def random_durations(n_frames: int) -> np.ndarray:
    """Return durations of 0 to 12 frames with a sum of n_frames, [n_phones]."""
    durations: list[int] = []
    while sum(durations) < n_frames:
        durations.append(min(random.randint(0, 12), n_frames - sum(durations)))
    return np.array(durations)


def main() -> None:
    random.seed(0)
    path = Path(sys.argv[1]) / "paddlespeech/t2s/datasets/get_feats.py"
    numpy = types.SimpleNamespace(**vars(np), float=float)
    code = taken(path, "Pitch", "Energy", np=numpy, librosa=librosa, pyworld=pyworld, interp1d=interp1d)
    pitch = code.Pitch(MEL.sample_rate, MEL.hop_length, f0min=80, f0max=7600)
    energy = code.Energy(MEL.n_fft, MEL.hop_length, MEL.win_length)
    extractor = MelExtractor(MEL)
    largest: dict[str, float] = {}
    n_frames = n_phones = 0
    for name in sys.argv[2:]:
        waveform, rate = soundfile.read(name, dtype="float32")
        assert rate == MEL.sample_rate, f"{name}: {rate} Hz"
        here = {"pitch": pitch_of(waveform, MEL, SETTINGS).pitch, "energy": extractor.with_energy(waveform)[1]}
        durations = random_durations(len(here["pitch"]))
        n_frames, n_phones = n_frames + len(here["pitch"]), n_phones + len(durations)
        there = {"pitch": pitch.get_pitch, "energy": energy.get_energy}
        for kind, values in here.items():
            averages = average_by_duration(values, durations)
            for what, mine, its in (
                ("by frame", values, there[kind](waveform)),
                ("means over phones", averages, there[kind](waveform, duration=durations)),
            ):
                assert its.shape == (len(mine), 1), (name, kind, its.shape, mine.shape)
                difference = float(np.abs(its[:, 0] - mine).max())
                largest[f"{kind}, {what}"] = max(largest.get(f"{kind}, {what}", 0.0), difference)
    print(f"{len(sys.argv) - 2} clips, {n_frames:,} frames, {n_phones:,} phones\n")
    print("| values | largest difference |\n| --- | --- |")
    for what, difference in largest.items():
        print(f"| {what} | {difference:.2g} |")


if __name__ == "__main__":
    main()
