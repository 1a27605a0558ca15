"""Compare PaddleSpeech's pitch and energy and ESPnet's pitch with the features here; print a markdown table.

    python conformance/pitch_energy.py --paddlespeech CHECKOUT --espnet CHECKOUT CLIP.wav…

The classes Pitch and Energy of paddlespeech/t2s/datasets/get_feats.py, and Dio of espnet2/tts/feats_extract/dio.py, are
taken out of their files and run as they are, with ``np.float``, which numpy no longer has, as ``float``, and without
checks of types. The clips are at 22,050 Hz; durations are random. ESPnet's means leave out unvoiced frames.
"""

from __future__ import annotations

import argparse
import random
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import pyworld
import soundfile
import torch
from definitions import definitions
from scipy.interpolate import interp1d

from tts_prep.loader import average_by_duration
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.signals.pitch import PitchConfig, pitch_of

MEL = PRESETS["parakeet-fastspeech2"]
# The defaults of the systems' recipes; ESPnet's are also run in Hz, with unvoiced frames.
PADDLESPEECH = PitchConfig(floor=80, ceiling=7600, unvoiced="interpolated", unit="ln_hz")
ESPNET = (PitchConfig(floor=80, ceiling=400, unvoiced="interpolated", unit="ln_hz"), PitchConfig(floor=80, ceiling=400))
Compared = tuple[str, np.ndarray, Any]


def random_durations(n_frames: int) -> np.ndarray:
    """Return durations of 0 to 12 frames with a sum of n_frames, [n_phones]."""
    durations: list[int] = []
    while sum(durations) < n_frames:
        durations.append(min(random.randint(0, 12), n_frames - sum(durations)))
    return np.array(durations)


class PaddleSpeech:
    """PaddleSpeech's values beside ours."""

    def __init__(self, root: Path) -> None:
        numpy = types.SimpleNamespace(**vars(np), float=float)
        libraries = {"np": numpy, "librosa": librosa, "pyworld": pyworld, "interp1d": interp1d}
        code = definitions(root / "paddlespeech/t2s/datasets/get_feats.py", "Pitch", "Energy", **libraries)
        self.pitch = code.Pitch(MEL.sample_rate, MEL.hop_length, f0min=80, f0max=7600)
        self.energy = code.Energy(MEL.n_fft, MEL.hop_length, MEL.win_length)
        self.extractor = MelExtractor(MEL)

    def __call__(self, waveform: np.ndarray, durations: np.ndarray) -> Iterator[Compared]:
        for what, values, theirs in (
            ("PaddleSpeech: pitch", pitch_of(waveform, MEL, PADDLESPEECH).pitch, self.pitch.get_pitch),
            ("PaddleSpeech: energy", self.extractor.with_energy(waveform)[1], self.energy.get_energy),
        ):
            yield what, values, theirs(waveform)[:, 0]
            averages = average_by_duration(values, durations)
            yield f"{what}, means", averages, theirs(waveform, duration=durations)[:, 0]


class ESPnet:
    """ESPnet's values beside ours."""

    def __init__(self, root: Path) -> None:
        self.code = definitions(
            root / "espnet2/tts/feats_extract/dio.py",
            "Dio",
            AbsFeatsExtract=torch.nn.Module,
            int_or_none=int,
            typechecked=lambda function: function,
            pad_list=lambda rows, value: torch.nn.utils.rnn.pad_sequence(rows, True, value),
            np=np,
            torch=torch,
            F=torch.nn.functional,
            pyworld=pyworld,
            interp1d=interp1d,
        )

    def __call__(self, waveform: np.ndarray, durations: np.ndarray) -> Iterator[Compared]:
        for settings in ESPNET:
            values = pitch_of(waveform, MEL, settings).pitch
            for averaged in (False, True):
                dio = self.code.Dio(
                    MEL.sample_rate,
                    hop_length=MEL.hop_length,
                    use_token_averaged_f0=averaged,
                    use_continuous_f0=settings.unvoiced == "interpolated",
                    use_log_f0=settings.unit == "ln_hz",
                    reduction_factor=1,
                )
                lengths = torch.tensor([len(values)])
                theirs, _ = dio(
                    torch.from_numpy(waveform)[None], feats_lengths=lengths, durations=torch.from_numpy(durations)[None]
                )
                mine = average_by_duration(values, durations, "nonzero") if averaged else values
                name = f"ESPnet: pitch, {settings.unit}, unvoiced={settings.unvoiced}"
                yield name + ", means" * averaged, mine, theirs[0, :, 0].numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paddlespeech", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--espnet", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("clips", type=Path, nargs="+")
    options = parser.parse_args()
    random.seed(0)
    systems = (PaddleSpeech(options.paddlespeech), ESPnet(options.espnet))
    largest: dict[str, float] = {}
    n_frames = n_phones = 0
    for clip in options.clips:
        waveform, rate = soundfile.read(clip, dtype="float32")
        assert rate == MEL.sample_rate, f"{clip}: {rate} Hz"
        frames = 1 + len(waveform) // MEL.hop_length
        durations = random_durations(frames)
        n_frames, n_phones = n_frames + frames, n_phones + len(durations)
        for system in systems:
            for what, mine, theirs in system(waveform, durations):
                assert mine.shape == theirs.shape, (clip, what, mine.shape, theirs.shape)
                largest[what] = max(largest.get(what, 0.0), float(np.abs(theirs - mine).max()))
    print(f"{len(options.clips)} clips, {n_frames:,} frames, {n_phones:,} phones\n")
    print("| values | largest difference |\n| --- | --- |")
    for what, difference in largest.items():
        print(f"| {what} | {difference:.2g} |")


if __name__ == "__main__":
    main()
