"""Plant hum, soft clipping, reverberation, noise and other voices, and print how many ``tts-prep check`` finds.

Texts are spoken by espeak-ng in many voices, each with its own variant, rate and pitch, over the noise of a room. Each
kind of fault is planted in a tenth of one store, and in another, a tenth has the name of another speaker. With
``--real``, each recording of the folders is used clean and with each fault, and overlapping pieces of one
recording of each speaker with a tenth of the names exchanged.

    python benchmarks/check_voices.py FOLDER --texts LJSpeech-1.1/metadata.csv --real LJSPEECH/wavs LIBRITTS/wavs

A speaker of real recordings is what precedes the first ``_`` or ``-`` of their names.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
from synthesise import NOISE_LEVEL, SAMPLE_RATE, read_texts, write_wav

from tts_prep.checks import Suspects, measure, suspects
from tts_prep.demo.speech import speak
from tts_prep.loader import UtteranceDataset

Clip = npt.NDArray[np.float64]
Row = tuple[str, Clip, str, str, str]
"""Id, recording, text, speaker and kind of fault."""

VARIANTS = tuple(f"+{sex}{n}" for sex, most in (("m", 8), ("f", 5)) for n in range(1, most + 1) if n != 4)
PIECE = int(1.5 * SAMPLE_RATE)
CLEAN, OTHER_VOICE = "clean", "name of another speaker"


def hum(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip with six harmonics of 50 or 60 Hz, 20 to 40 dB below it."""
    times, mains = np.arange(len(clip)) / SAMPLE_RATE, rng.choice((50, 60)) + rng.uniform(-0.05, 0.05)
    levels = np.array([1, 0.6, 0.5, 0.3, 0.25, 0.2]) * rng.uniform(0.5, 1.5, 6)
    phases = rng.uniform(0, 2 * np.pi, 6)
    lines = sum(a * np.sin(2 * np.pi * (i + 1) * mains * times + phases[i]) for i, a in enumerate(levels))
    return 0.7 * (clip + lines * rms(clip) / rms(lines) * 10 ** (-rng.uniform(20, 40) / 20))


def saturated(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip through tanh, 9 to 18 dB above its knee, at another level."""
    driven = np.tanh(clip / np.abs(clip).max() * 10 ** (rng.uniform(9, 18) / 20))
    return driven / np.abs(driven).max() * rng.uniform(6_000, 30_000)


def reverberant(rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip in a room with 0.5 to 1 s of reverberation, its energy at -3 to 3 dB of the direct sound's."""
    seconds = rng.uniform(0.5, 1)
    n = int(seconds * SAMPLE_RATE)
    room = rng.normal(size=n) * 10 ** (-3 * np.arange(n) / n)
    room[: int(0.003 * SAMPLE_RATE)] = 0
    room *= 10 ** (rng.uniform(-3, 3) / 20) / np.sqrt(np.square(room).sum())
    room[0] = 1
    size = 1 << (len(clip) + n).bit_length()
    heard = np.fft.irfft(np.fft.rfft(clip, size) * np.fft.rfft(room, size))[: len(clip)]
    return heard / np.abs(heard).max() * np.abs(clip).max()


def noise(low: float, high: float, rng: np.random.Generator, clip: Clip) -> Clip:
    """Return the clip in white noise."""
    return 0.5 * (clip + rng.normal(0, rms(clip) * 10 ** (-rng.uniform(low, high) / 20), len(clip)))


def rms(clip: Clip) -> float:
    return float(np.sqrt(np.square(clip).mean()))


FAULTS: dict[str, tuple[Callable[[np.random.Generator, Clip], Clip], tuple[str, ...]]] = {
    "hum, 20 to 40 dB below": (hum, ("hum",)),
    # What is driven far has flat peaks in 16 bits.
    "soft clipping by 9 to 18 dB": (saturated, ("saturated", "clipped")),
    "reverberation of 0.5 to 1 s": (reverberant, ("reverberant",)),
    "noise, 0 to 10 dB below": (partial(noise, 0, 10), ("noisy",)),
    "noise, 15 to 25 dB below": (partial(noise, 15, 25), ()),
}
REASONS = {kind: reasons for kind, (_, reasons) in FAULTS.items() if reasons} | {OTHER_VOICE: ("other-voice",)}


def spoken(job: tuple[int, str, tuple[str, int, int]]) -> Clip:
    """Return a text in a voice, no two at one level, rate and pitch, with the noise of a room."""
    number, text, (voice, rate, pitch) = job
    rng = np.random.default_rng(number)
    waveform, _ = speak(
        text,
        voice=voice,
        words_per_minute=int(rate * rng.normal(1, 0.06)),
        pitch=int(np.clip(pitch + rng.normal(0, 5), 0, 99)),
    )
    before, after = (int(rng.uniform(0.05, 0.4) * SAMPLE_RATE) for _ in range(2))
    clip = np.pad(waveform * (rng.uniform(8_000, 32_000) / np.abs(waveform.astype(float)).max()), (before, after))
    return clip + rng.normal(0, NOISE_LEVEL, len(clip))


def synthetic(texts: Iterable[str], n_voices: int, n_each: int, seed: int, planted: Iterable[str]) -> list[Row]:
    """Return utterances of many voices: of each kind of fault that is planted a tenth, the rest clean."""
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    voices = [
        (f"en-us{draw.choice(VARIANTS)}", draw.randrange(130, 200), draw.randrange(15, 85)) for _ in range(n_voices)
    ]
    said = [text for text in dict.fromkeys(texts) if 30 <= len(text) <= 90][: n_voices * n_each]
    jobs = [(number, text, voices[number % n_voices]) for number, text in enumerate(said)]
    with ProcessPoolExecutor() as pool:
        clips = list(pool.map(spoken, jobs, chunksize=16))
    order, tenth = rng.permutation(len(said)), len(said) // 10
    kinds = dict.fromkeys(order.tolist(), CLEAN)
    for number, kind in enumerate(planted):
        kinds.update(dict.fromkeys(order[number * tenth : (number + 1) * tenth].tolist(), kind))
    rows = []
    for number, (clip, text) in enumerate(zip(clips, said, strict=True)):
        kind, speaker = kinds[number], number % n_voices
        if kind == OTHER_VOICE:
            speaker = (speaker + int(rng.integers(1, n_voices))) % n_voices
        heard = FAULTS[kind][0](rng, clip) if kind in FAULTS else clip
        rows.append((f"{number:05d}", heard, text, f"speaker{speaker:02d}", kind))
    return rows


def real(folders: Iterable[Path], seed: int) -> tuple[list[Row], list[Row]]:
    """Return recordings, clean and with each fault; and pieces of them, a tenth with the name of another speaker.

    Pieces overlap, and are taken from the longest recording of each speaker, because there are few.
    """
    rng = np.random.default_rng(seed)
    whole: list[Row] = []
    longest: dict[str, Clip] = {}
    for path in sorted(path for folder in folders for path in folder.glob("*.wav")):
        samples, rate = soundfile.read(path)
        assert rate == SAMPLE_RATE, path
        clip, speaker = samples * 32768, re.split("[_-]", path.stem)[0][:7]
        longest[speaker] = max(clip, longest.get(speaker, clip), key=len)
        whole.append((path.stem, clip, "text", "one", CLEAN))
        for number, (kind, (fault, _)) in enumerate(FAULTS.items()):
            whole.append((f"{path.stem}-{number}", fault(rng, clip), "text", "one", kind))
    pieces = [
        (speaker, clip[start : start + PIECE])
        for speaker, clip in longest.items()
        for start in range(0, len(clip) - PIECE + 1, PIECE // 4)
    ]
    names = sorted(longest)
    cut = []
    swapped = {*rng.permutation(len(pieces))[: len(pieces) // 10].tolist()}
    for number, (speaker, piece) in enumerate(pieces):
        name = str(rng.choice([name for name in names if name != speaker])) if number in swapped else speaker
        cut.append((f"{number:04d}", piece, "text", name, OTHER_VOICE if number in swapped else CLEAN))
    return whole, cut


def check(folder: Path, rows: list[Row]) -> tuple[Suspects, npt.NDArray[np.str_]]:
    """Build a store of utterances, and return its suspects and the kinds of fault; print the cost."""
    wavs, store = folder / "wavs", folder / "store"
    if not store.is_dir():
        wavs.mkdir(parents=True)
        for id_, clip, *_ in rows:
            write_wav(wavs / f"{id_}.wav", np.clip(np.rint(clip), -32_768, 32_767).astype(np.int16))
        lines = "".join(f"{id_}.wav|{text}|{speaker}\n" for id_, _, text, speaker, _ in rows)
        (folder / "list.txt").write_text(lines, encoding="utf-8")
        (folder / "kinds.json").write_text(json.dumps({id_: kind for id_, *_, kind in rows}))
        command = ["filelist", folder / "list.txt", store, "--root", wavs, "--columns", "path|text|speaker"]
        command += ["--preset", "hifigan", "--waveform", "int16", "--frontend", "characters", "--quiet"]
        subprocess.run([sys.executable, "-m", "tts_prep", *map(str, command)], check=True)
    dataset, kinds = UtteranceDataset(store), json.loads((folder / "kinds.json").read_text())
    measure(dataset)
    start = time.process_time()
    found = suspects(measure(dataset))
    hours = dataset.seconds.sum() / 3600
    took = (time.process_time() - start) / hours
    print(f"\n{len(dataset):,} utterances, {hours:.2f} hours, {took:.1f} s of processor time per hour\n")
    return found, np.array([kinds[Path(id_).stem] for id_ in dataset.id])


def table(found: Suspects, kinds: npt.NDArray[np.str_]) -> None:
    """Print recall, precision, and the clean clips that are flagged."""
    print("| fault | planted | found | recall | precision | clean clips flagged |\n" + "| --- " * 6 + "|")
    clean = kinds == CLEAN
    flags = {kind: np.any([found.flagged[reason] for reason in reasons], axis=0) for kind, reasons in REASONS.items()}
    for kind, flagged in flags.items():
        planted = kinds == kind
        if planted.any():
            hits, wrong = int((flagged & planted).sum()), int((flagged & clean).sum())
            of = flagged & (planted | clean)
            shares = f"{hits / planted.sum():.1%} | {hits / max(1, of.sum()):.1%}"
            print(f"| {kind} | {planted.sum()} | {hits} | {shares} | {wrong} of {clean.sum()} |")
    for kind in [kind for kind in FAULTS if (kinds == kind).any()]:
        others = {k: int((flagged & (kinds == kind)).sum()) for k, flagged in flags.items() if k != kind}
        print(f"{kind}, flagged as another: { {k: n for k, n in others.items() if n} or 'none' }")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a new folder for corpora and stores")
    parser.add_argument("--texts", type=Path, help="a metadata.csv whose texts to draw from")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="folders of WAV files at 22,050 Hz")
    parser.add_argument("--voices", type=int, default=40)
    parser.add_argument("--each", type=int, default=25, help="utterances of each voice")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts = read_texts(options.texts)
    for name, planted in (("faults", [*FAULTS]), ("voices", [OTHER_VOICE])):
        table(*check(options.folder / name, synthetic(texts, options.voices, options.each, options.seed, planted)))
    if options.real:
        for name, rows in zip(("real", "pieces"), real(options.real, options.seed), strict=True):
            table(*check(options.folder / name, rows))


if __name__ == "__main__":
    main()
