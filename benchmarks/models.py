"""Measure how fast the example models run over a store, one utterance at a time and in batches, on the CPU.

    python benchmarks/models.py [--utterances 60] [--repeats 3]

Prints a table in Markdown: processor time of the calls alone, in one process with one thread, the median of the
repeats, without loading the model and reading the waveforms.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests")]

from corpora import speech_like
from speech_models import EncodecTokens, SpeakerVectors

from tts_prep.models.inputs import batches_of


def seconds_of(model, waveforms, seconds, batch_seconds):
    """Return the processor time of all calls, in seconds."""
    batches = batches_of(seconds, batch_seconds)
    started = time.process_time()
    for batch in batches:
        model([waveforms[position] for position in batch])
    return time.process_time() - started


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--utterances", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    durations = np.random.default_rng(0).uniform(1.5, 10, options.utterances).tolist()
    print("| model | one at a time | batches of 30 s | 60 s | 120 s |\n| --- | --- | --- | --- | --- |")
    for kind in (EncodecTokens, SpeakerVectors):
        model = kind()
        waveforms = [
            speech_like(duration, number, kind.sample_rate).astype(np.float32)
            for number, duration in enumerate(durations)
        ]
        speeds = []
        for batch_seconds in (1e-9, 30, 60, 120):
            taken = [seconds_of(model, waveforms, durations, batch_seconds) for _ in range(options.repeats)]
            speeds.append(sum(durations) / statistics.median(taken))
        print(f"| {kind.__name__} | {' | '.join(f'{speed:,.0f}' for speed in speeds)} |")


if __name__ == "__main__":
    main()
