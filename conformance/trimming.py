"""Compare trimming by energy with NeMo's code, on clips between noise, with random settings.

    python conformance/trimming.py --nemo CHECKOUT CLIP.wav …

CHECKOUT is a checkout of NVIDIA NeMo. The file of its class EnergyAudioTrimmer imports all of NeMo, so the class, its
base and its two functions are taken out of the file.
"""

from __future__ import annotations

import argparse
import logging
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import librosa
import numpy as np
from definitions import definitions

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.reading import read_waveform
from tts_prep.signals.cleaner import trimming_cut

RATE = 22_050


def nemo_trimmer(checkout: Path) -> Any:
    """Return NeMo's class, with what it needs of its own files."""
    folder = checkout / "nemo/collections/tts/parts"
    normalize = definitions(folder / "utils/tts_dataset_utils.py", "normalize_volume", np=np).normalize_volume
    names = ("AudioTrimmer", "EnergyAudioTrimmer", "get_start_and_end_of_speech_frames", "pad_sample_indices")
    libraries = {"np": np, "librosa": librosa, "logging": logging.getLogger("nemo"), "normalize_volume": normalize}
    path = folder / "preprocessing/audio_trimming.py"
    return definitions(path, *names, ABC=ABC, abstractmethod=abstractmethod, **libraries).EnergyAudioTrimmer


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
    print(f"NeMo's EnergyAudioTrimmer: {compared:,} cuts compared, {differing} differ; {empty} leave nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--nemo", type=Path, required=True, help="a checkout of NVIDIA NeMo")
    options = parser.parse_args()
    compare_with_nemo([read_waveform(path, RATE) for path in options.clips], nemo_trimmer(options.nemo))


if __name__ == "__main__":
    main()
