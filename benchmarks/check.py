"""Plant faults in a synthetic corpus and print how many of them ``tts-prep check`` finds.

Every text is spoken by espeak-ng, in one of five voices that count as one reader, at a rate and a pitch that vary from
clip to clip, over the noise of a room that begins before the speech and ends after it. Each kind of fault is planted in
clips that have no other fault; the remaining clips are clean.

    python benchmarks/check.py FOLDER --texts LJSpeech-1.1/metadata.csv

Recall is the share of the planted clips that are flagged for one of the reasons of their kind. Precision is the share
of the clips flagged for one of these reasons that have any planted fault.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr
from synthesise import NOISE_LEVEL, SAMPLE_RATE, read_texts, write_wav

from tts_prep.checks import measure
from tts_prep.checks import suspects as find_suspects
from tts_prep.demo.corpus import MANNERS
from tts_prep.demo.speech import speak
from tts_prep.loader import UtteranceDataset

Clip = npt.NDArray[np.float32]
Fault = Callable[[np.random.Generator, Clip], Clip]

RATE_SPREAD = 0.08
"""Standard deviation of the rate of a voice, as a share of it; phones a second of LJ Speech's clips vary by 0.12."""

LENGTH = ("wrong-text", "unspoken-end", "shorter-than-text", "longer-than-text", "too-fast", "too-slow")


def clipped(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip with its peak over full scale by 3 to 12 dB, cut off there, then at another level."""
    peak = np.abs(clip).max()
    bound = peak * 10 ** (-rng.uniform(3, 12) / 20)
    return np.clip(clip, -bound, bound) * rng.uniform(0.5, 1)


def zeroed(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip with 0.1 to 0.8 s of zeros inside."""
    n = int(rng.uniform(0.1, 0.8) * SAMPLE_RATE)
    start = rng.integers(len(clip) // 10, len(clip) * 9 // 10 - n)
    clip = clip.copy()
    clip[start : start + n] = 0
    return clip


def padded(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip with 1.5 to 3 s of the noise of a room before or behind it."""
    noise = rng.normal(0, NOISE_LEVEL, int(rng.uniform(1.5, 3) * SAMPLE_RATE)).astype(np.float32)
    return np.concatenate([noise, clip] if rng.random() < 0.5 else [clip, noise])


def truncated(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the first 50 to 90 % of the clip."""
    return clip[: int(rng.uniform(0.5, 0.9) * len(clip))]


def upsampled(_: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip as it would be from a recording at 16 kHz."""
    return np.asarray(soxr.resample(soxr.resample(clip, SAMPLE_RATE, 16_000), 16_000, SAMPLE_RATE), np.float32)


def noisy(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip in white noise, 0 to 10 dB below it."""
    level = np.sqrt((clip**2).mean()) * 10 ** (-rng.uniform(0, 10) / 20)
    return (clip + rng.normal(0, level, len(clip))).astype(np.float32) / 2


def copied(_: np.random.Generator, clip: Clip) -> Clip:
    return clip


def quieter(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip 6 dB lower, with other noise."""
    return (clip / 2 + rng.normal(0, NOISE_LEVEL, len(clip))).astype(np.float32)


FAULTS: dict[str, tuple[Fault | None, tuple[str, ...]]] = {
    "copy of another clip": (copied, ("audio-duplicate",)),
    "copy, 6 dB lower, more noise": (quieter, ("near-duplicate",)),
    "clipped by 3 to 12 dB": (clipped, ("clipped",)),
    "0.1 to 0.8 s of zeros": (zeroed, ("digital-silence",)),
    "1.5 to 3 s of silence at an end": (padded, ("silence-start", "silence-end")),
    "last 10 to 50 % cut off": (truncated, ("cut-end", "unspoken-end", "wrong-text", "shorter-than-text", "too-fast")),
    "noise, 0 to 10 dB below": (noisy, ("noisy",)),
    "upsampled from 16 kHz": (upsampled, ("upsampled",)),
    "transcript of any other clip": (None, LENGTH),
    "transcript of the neighbour": (None, LENGTH),
}
COPIES = ("copy of another clip", "copy, 6 dB lower, more noise")


def spoken(seed: int, row: tuple[int, str]) -> Clip:
    """Return a text as a reader says it: no two clips at one level, rate and pitch, and with the noise of a room."""
    number, text = row
    rng = np.random.default_rng([seed, number])
    manner = MANNERS[rng.integers(len(MANNERS))]
    rate = int(np.clip(manner.words_per_minute * rng.normal(1, RATE_SPREAD), 100, 300))
    pitch = int(np.clip(manner.pitch + rng.normal(0, 6), 0, 100))
    waveform, sample_rate = speak(text, voice=manner.voice, words_per_minute=rate, pitch=pitch)
    assert sample_rate == SAMPLE_RATE
    loud = np.flatnonzero(np.abs(waveform.astype(np.int32)) > 50)
    speech = waveform[loud[0] : loud[-1] + 1].astype(np.float32)
    before, after = (int(rng.uniform(0.05, 0.4) * SAMPLE_RATE) for _ in range(2))
    clip = rng.normal(0, NOISE_LEVEL, before + len(speech) + after).astype(np.float32)
    clip[before : before + len(speech)] += speech * (rng.uniform(8_000, 32_000) / np.abs(speech).max())
    return clip


def plant(folder: Path, n_clips: int, n_planted: int, texts: Path | None, seed: int) -> list[str]:
    """Write the corpus; return the kind of fault of each clip, empty for clean ones."""
    (folder / "wavs").mkdir(parents=True)
    rng = np.random.default_rng(seed)
    said = list(dict.fromkeys(read_texts(texts)))[:n_clips]
    kinds = choose(rng, len(said), n_planted)
    written = list(said)
    swapped = [i for i, kind in enumerate(kinds) if kind == "transcript of any other clip"]
    for i, other in zip(swapped, np.roll(swapped, 1), strict=True):
        written[i] = said[other]
    neighbours = [i for i, kind in enumerate(kinds) if kind == "transcript of the neighbour"]
    for i, other in zip(neighbours[::2], neighbours[1::2], strict=True):
        written[i], written[other] = said[other], said[i]
    clean: dict[int, Clip] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for i, clip in enumerate(pool.map(partial(spoken, seed), enumerate(said), chunksize=8)):
            kind = kinds[i]
            if kind in COPIES:
                source = int(rng.choice(list(clean)))
                clip, written[i] = clean.pop(source), written[source]
            elif not kind and len(clean) < 500:
                clean[i] = np.rint(clip)
            fault = FAULTS[kind][0] if kind else None
            clip = fault(rng, clip) if fault else clip
            write_wav(folder / "wavs" / f"{i:05d}.wav", np.clip(np.rint(clip), -32_768, 32_767).astype(np.int16))
    rows = "".join(f"{i:05d}|{text}|{text}\n" for i, text in enumerate(written))
    (folder / "metadata.csv").write_text(rows, encoding="utf-8")
    return kinds


def choose(rng: np.random.Generator, n_clips: int, n_planted: int) -> list[str]:
    """Return the kind of each clip: neighbours in pairs, copies behind the first tenth, which has their originals."""
    kinds = [""] * n_clips
    first = n_clips // 6
    pairs = rng.permutation(np.arange(first, n_clips - 1, 2))[: n_planted // 2]
    for i in pairs:
        kinds[i] = kinds[i + 1] = "transcript of the neighbour"
    free = rng.permutation([i for i in range(first, n_clips) if not kinds[i]])
    for number, kind in enumerate(kind for kind in FAULTS if kind != "transcript of the neighbour"):
        for i in free[number * n_planted : (number + 1) * n_planted]:
            kinds[i] = kind
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description="Print precision and recall of 'tts-prep check' on planted faults.")
    parser.add_argument("folder", type=Path, help="a new folder for corpus and store")
    parser.add_argument("--clips", type=int, default=2940)
    parser.add_argument("--planted", type=int, default=200, help="faults of each kind")
    parser.add_argument("--texts", type=Path, help="a metadata.csv whose texts to draw from")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    corpus, store, stamp = (arguments.folder / name for name in ("corpus", "store", "kinds.json"))
    if stamp.is_file():
        kinds = json.loads(stamp.read_text())
    else:
        kinds = plant(corpus, arguments.clips, arguments.planted, arguments.texts, arguments.seed)
        command = [sys.executable, "-m", "tts_prep", "ljspeech", str(corpus), str(store), "--waveform", "int16"]
        subprocess.run(command, check=True)
        stamp.write_text(json.dumps(kinds))
    start = time.process_time()
    dataset = UtteranceDataset(store)
    suspects = find_suspects(measure(dataset))
    took = time.process_time() - start
    planted = np.array([kinds[int(id_)] for id_ in dataset.id])
    hours = dataset.seconds.sum() / 3600
    print(f"{len(dataset):,} utterances, {hours:.2f} hours, checked in {took:.1f} s of processor time\n")
    print("| fault | planted | found | recall | precision |\n| --- | --- | --- | --- | --- |")
    for kind, (_, reasons) in FAULTS.items():
        flagged = np.any([suspects.flagged[reason] for reason in reasons], axis=0)
        found, of_kind = flagged & (planted == kind), planted == kind
        right = (flagged & (planted != "")).sum() / max(1, flagged.sum())
        print(f"| {kind} | {of_kind.sum()} | {found.sum()} | {found.sum() / max(1, of_kind.sum()):.1%} | {right:.1%} |")
    clean = planted == ""
    for reason, mask in suspects.flagged.items():
        if (mask & clean).any():
            print(f"clean, flagged as {reason}: {(mask & clean).sum()}")
    wrong = np.any([*suspects.flagged.values()], axis=0) & clean
    print(f"clean: {clean.sum()}, flagged for any reason: {wrong.sum()} ({wrong.sum() / max(1, clean.sum()):.2%})")


if __name__ == "__main__":
    main()
