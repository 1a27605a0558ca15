"""Make hours of speech-like audio in the shape of LJ Speech, much faster than real time.

A bank of phrases is spoken by espeak-ng once, each at a few pitches; a clip is phrases put one behind another at
another level, with the soft noise that a recorded room has. Lengths follow LJ Speech's (mean 6.57 s, standard
deviation 2.18 s, 1.1 to 10.1 s), and so does the length of the text (15 characters a second). The audio and the text
of a clip are not of the same words: good for measuring, not for training.

    python benchmarks/synthesise.py FOLDER --hours 1

The same options give the same bytes, and a longer corpus begins with a shorter one. A folder that has been made with
the same options is kept. The texts come from the sentences of the demo, some 400 different words; ``--texts`` takes
those of a ``metadata.csv`` instead, for the vocabulary of a real corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import time
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_prep.demo.corpus import MANNERS, read_sentences
from tts_prep.demo.speech import speak

SAMPLE_RATE = 22_050
STAMP = "synthesis.json"
VERSION = 1

SHORTEST, LONGEST = 1.1, 10.1  # seconds
# Moments of a beta distribution on [SHORTEST, LONGEST] give its two parameters.
_MEAN, _STD = (6.57 - SHORTEST) / (LONGEST - SHORTEST), 2.18 / (LONGEST - SHORTEST)
_CONCENTRATION = _MEAN * (1 - _MEAN) / _STD**2 - 1
ALPHA, BETA = _MEAN * _CONCENTRATION, (1 - _MEAN) * _CONCENTRATION

CHARACTERS_PER_SECOND = 15.0
PITCH_FACTORS = (0.89, 0.95, 1.0, 1.06, 1.12)
NOISE_LEVEL = 12.0  # standard deviation in steps of 16 bits: -69 dB below full scale
CLIPS_PER_CHAPTER = 250

Floats = npt.NDArray[np.float32]


def speak_phrases() -> list[Floats]:
    """Return the phrase bank, each [n_samples] float32 with a peak of 1."""
    phrases = []
    for number, (_, text) in enumerate(read_sentences()):
        waveform, sample_rate = speak(text, **MANNERS[number % len(MANNERS)]._asdict())
        assert sample_rate == SAMPLE_RATE
        loud = np.flatnonzero(np.abs(waveform.astype(np.int32)) > 50)
        spoken = waveform[loud[0] : loud[-1] + 1].astype(np.float32)
        spoken /= np.abs(spoken).max()
        for factor in PITCH_FACTORS:
            positions = np.arange(0, len(spoken) - 1, factor)
            phrases.append(np.interp(positions, np.arange(len(spoken)), spoken).astype(np.float32))
    return phrases


def make_clip(rng: np.random.Generator, phrases: list[Floats], noise: Floats, n_samples: int) -> npt.NDArray[np.int16]:
    """Return a clip of exactly ``n_samples`` from phrases, pauses of 0.1 to 0.4 s and noise."""
    level = rng.uniform(8_000, 32_000)
    start = rng.integers(len(noise) - n_samples)
    clip = noise[start : start + n_samples].copy()
    position = int(rng.uniform(0.02, 0.1) * SAMPLE_RATE)
    while position < n_samples:
        phrase = phrases[rng.integers(len(phrases))]
        # Half of the clips begin inside of a phrase, or their first seconds would all be starts of sentences.
        phrase = phrase[rng.integers(len(phrase) // 2) :] if rng.random() < 0.5 else phrase
        phrase = phrase[: n_samples - position]
        clip[position : position + len(phrase)] += level * phrase
        position += len(phrase) + int(rng.uniform(0.1, 0.4) * SAMPLE_RATE)
    return np.clip(np.rint(clip), -32_768, 32_767).astype(np.int16)


def make_text(rng: np.random.Generator, sentences: list[list[str]], seconds: float) -> str:
    """Return running words of the sentences, about as many characters as a reader says in that time."""
    wanted = seconds * CHARACTERS_PER_SECOND * rng.uniform(0.8, 1.2)
    words: list[str] = []
    length = 0
    while length < wanted:
        sentence = sentences[rng.integers(len(sentences))]
        for word in sentence[rng.integers(max(1, len(sentence) - 4)) :]:
            words.append(word)
            length += len(word) + 1
            if length >= wanted:
                break
    return " ".join(words)


def read_texts(path: Path | None) -> list[str]:
    """Return the spoken texts of a ``metadata.csv``, or of the demo."""
    if path is None:
        return [normalized for _, normalized in read_sentences()]
    rows = (line.split("|") for line in path.read_text(encoding="utf-8").splitlines())
    return [row[2] if len(row) > 2 and row[2] else row[1] for row in rows]


def write_wav(path: Path, waveform: npt.NDArray[np.int16]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, SAMPLE_RATE, len(waveform), "NONE", ""))
        file.writeframes(waveform.astype("<i2", copy=False).tobytes())


def synthesise(folder: Path, hours: float, *, seed: int = 0, texts: Path | None = None) -> tuple[int, float]:
    """Write the corpus; return the number of clips and their seconds in all.

    Raises FileExistsError for a folder with files that are not of this script.
    """
    sentences = [text.split() for text in read_texts(texts)]
    content = hashlib.sha256("\n".join(map(" ".join, sentences)).encode()).hexdigest()
    settings = {"version": VERSION, "hours": hours, "seed": seed, "texts": content}
    stamp = folder / STAMP
    if stamp.is_file():
        found = json.loads(stamp.read_text())
        if found["settings"] == settings:
            return found["clips"], found["seconds"]
        shutil.rmtree(folder)
    elif folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: holds files that are not of this script; choose another folder")
    (folder / "wavs").mkdir(parents=True)
    # Written first and again at the end: a folder that was left half-made is still known for ours.
    stamp.write_text(json.dumps({"settings": None}))

    phrases = speak_phrases()
    noise = np.random.default_rng(seed).normal(0, NOISE_LEVEL, 30 * SAMPLE_RATE).astype(np.float32)
    rows: list[str] = []
    seconds = 0.0
    while seconds < hours * 3600:
        number = len(rows)
        rng = np.random.default_rng([seed, number])
        n_samples = round((SHORTEST + (LONGEST - SHORTEST) * rng.beta(ALPHA, BETA)) * SAMPLE_RATE)
        clip_id = f"SY{number // CLIPS_PER_CHAPTER + 1:03d}-{number % CLIPS_PER_CHAPTER + 1:04d}"
        write_wav(folder / "wavs" / f"{clip_id}.wav", make_clip(rng, phrases, noise, n_samples))
        text = make_text(rng, sentences, n_samples / SAMPLE_RATE)
        rows.append(f"{clip_id}|{text}|{text}\n")
        seconds += n_samples / SAMPLE_RATE
    (folder / "metadata.csv").write_text("".join(rows), encoding="utf-8", newline="\n")
    stamp.write_text(json.dumps({"settings": settings, "clips": len(rows), "seconds": seconds}))
    return len(rows), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Make hours of speech-like audio in the shape of LJ Speech.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=Path, help="a metadata.csv whose texts to draw from")
    arguments = parser.parse_args()
    start = time.perf_counter()
    clips, seconds = synthesise(arguments.folder, arguments.hours, seed=arguments.seed, texts=arguments.texts)
    took = time.perf_counter() - start
    print(f"{clips:,} clips, {seconds / 3600:.2f} hours, in {took:.1f} s: {seconds / took:,.0f} times real time")


if __name__ == "__main__":
    main()
