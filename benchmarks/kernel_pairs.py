"""Compare the mel kernel of this checkout with that of another one, in alternation, on one core.

    python benchmarks/kernel_pairs.py OTHER_CHECKOUT CLIPS... --pairs 7 --preset parakeet

Each run is a process of its own, which compiles or loads the kernel first, and then computes the mels of all clips
several times. Printed are seconds of processor time per run, and the ratio of each pair: the time of this checkout by
that of the other. Processor time is less affected by other load than the time that passes, but not independent of it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

RUN = """
import sys, time
import numpy as np, soundfile
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS
config, repeats = PRESETS[sys.argv[1]], int(sys.argv[2])
clips = [soundfile.read(path, dtype="float32", always_2d=True)[0][:, 0] for path in sys.argv[3:]]
made = [mel_spectrogram(clip, config) for clip in clips]
start = time.process_time()
for _ in range(repeats):
    for clip in clips:
        mel_spectrogram(clip, config)
print(time.process_time() - start, float(np.concatenate(made).sum(dtype=np.float64)))
"""


def seconds(checkout: Path, preset: str, repeats: int, clips: list[Path]) -> tuple[float, str]:
    """Return the processor time of one run, and the sum of its mels."""
    limits = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [sys.executable, "-c", RUN, preset, str(repeats), *(str(clip.resolve()) for clip in clips)]
    # Python imports from the working folder first.
    done = subprocess.run(command, cwd=checkout, env=os.environ | limits, stdout=subprocess.PIPE, text=True, check=True)
    taken, total = done.stdout.split()
    return float(taken), total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--preset", default="parakeet")
    options = parser.parse_args()
    ratios, checkout = [], Path(__file__).resolve().parents[1]
    for number in range(options.pairs):
        # The order within a pair alternates.
        order = [options.other, checkout][:: -1 if number % 2 else 1]
        found = {folder: seconds(folder, options.preset, options.repeats, options.clips) for folder in order}
        (other, other_total), (this, total) = found[options.other], found[checkout]
        ratios.append(this / other)
        same = "the same sum of mels" if total == other_total else f"sums of mels {total} and {other_total}"
        print(f"{this:.3f} s and {other:.3f} s: {ratios[-1]:.3f}, {same}", flush=True)
    print(f"median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
