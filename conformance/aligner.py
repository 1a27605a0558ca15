"""Compare durations of the aligner with the exact times of espeak-ng's phones; print a markdown table.

    python conformance/aligner.py --texts LJSpeech-1.1/metadata.csv [--hours 24]

The texts are the last fields of the file's lines. Each is spoken by espeak-ng, which reports when each phone starts,
between 0.1 and 0.4 s of silence, with noise at -60 dB of full scale. Boundaries are the starts of phones, of a stop
that of its closure; those of the aligner are multiples of the hop of 11.6 ms. Other languages read the same texts:
their phones are their own, whatever the words are. The last rows are other texts of a voice that the model was not
trained on. A second table has classes of phones. With ``--hours``, the processor time for this much audio is printed.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.demo.speech import speak_with_phones
from tts_prep.preprocess import PRESETS
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor

STRESS: Final = "',%="
LIMITS: Final = (0.01, 0.02, 0.025, 0.05)
VARIANTS: Final = tuple(
    f"+{sex}{number}" for sex, most in (("m", 8), ("f", 5)) for number in range(1, most + 1) if number != 4
)
CONFIG: Final = PRESETS["hifigan"]
HOP: Final = CONFIG.hop_length / CONFIG.sample_rate
PAUSE: Final = "sp"
LEAST_SECONDS: Final = 0.001
CLOSED: Final = 0.02
"""The peak below which a synthetic voice has its mouth closed; its vowels have ten times as much."""


@dataclass(frozen=True)
class Condition:
    """What is spoken, and by whom.

    Attributes:
        voices: voice, words per minute and pitch of each speaker.
        noise_db: the signal-to-noise ratio, dB.
        pause: seconds of silence inserted between two words.
    """

    name: str
    voices: Sequence[tuple[str, int, int]]
    n_texts: int
    noise_db: float | None = None
    pause: float = 0.0


@dataclass(frozen=True, eq=False)
class Spoken:
    """A recording, its phones and the second at which each starts.

    Attributes:
        closures: the starts, but of a stop that of the quiet before it. espeak-ng reports a voiceless stop at its
            release, and people's labels begin at the closure.
        is_timed: whether a phone has a time of its own. espeak-ng says some liquids with the vowel before, and reports
            them at their end, where the next phone starts.
    """

    waveform: npt.NDArray[np.float32]
    phones: tuple[str, ...]
    starts: npt.NDArray[np.float64]
    closures: npt.NDArray[np.float64]
    is_timed: npt.NDArray[np.bool_]


def conditions() -> Iterator[Condition]:
    rng = random.Random(0)
    one = [("en-us+f3", 160, 50)]
    five = [("en-us", 165, 50), *one, ("en-us+m3", 185, 45), ("en-us+f2", 175, 60), ("en-us+m7", 140, 40)]
    fifty = [(f"en-us{rng.choice(VARIANTS)}", rng.randrange(130, 200), rng.randrange(20, 80)) for _ in range(50)]
    for n_texts in (1, 10, 40, 300):
        yield Condition("1 voice", one, n_texts)
    yield Condition("5 voices", five, 40)
    yield Condition("5 voices", five, 300)
    yield Condition("50 voices", fifty, 300)
    yield Condition("5 voices, noise at 20 dB", five, 300, noise_db=20)
    yield Condition("5 voices, 0.5 s of silence between two words", five, 300, pause=0.5)
    for language in ("de", "fr", "es", "pl", "tr"):
        yield Condition(f"1 voice, {language}", [(f"{language}+f3", 160, 50)], 150)


def speak(condition: Condition, texts: Sequence[str]) -> list[Spoken]:
    spoken = []
    for number, text in enumerate(texts[: condition.n_texts]):
        voice, rate, pitch = condition.voices[number % len(condition.voices)]
        samples, sample_rate, phones = speak_with_phones(text, voice=voice, words_per_minute=rate, pitch=pitch)
        assert sample_rate == CONFIG.sample_rate
        rng = np.random.default_rng(number)
        waveform = samples.astype(np.float32) / 32768
        starts = np.array([start for start, _ in phones])
        if condition.pause:
            waveform, starts = with_pause(waveform, starts, rng, condition.pause)
        lead, tail = (int(seconds * sample_rate) for seconds in rng.uniform(0.1, 0.4, 2))
        level = np.sqrt((waveform**2).mean()) * 10 ** (-condition.noise_db / 20) if condition.noise_db else 1e-3
        waveform = np.pad(waveform, (lead, tail)).astype(np.float32)
        starts = starts + lead / sample_rate
        closures = with_closures(waveform, starts, [phone for _, phone in phones])
        waveform = (waveform + rng.normal(0, level, len(waveform))).astype(np.float32)
        # "(en)" and the like are no phones, but changes of the language within a text.
        is_said = np.array([not phone.startswith("(") for _, phone in phones])
        said = tuple(phone for _, phone in phones if not phone.startswith("("))
        is_timed = np.diff(starts, append=np.inf) > LEAST_SECONDS
        spoken.append(Spoken(waveform, said, starts[is_said], closures[is_said], (is_said & is_timed)[is_said]))
    return spoken


def with_closures(
    waveform: npt.NDArray[np.float32], starts: npt.NDArray[np.float64], phones: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Return the starts, those of stops and affricates after a phone at the first of the quiet steps before them."""
    step, most = round(0.0025 * CONFIG.sample_rate), 32
    found = starts.copy()
    for number in range(1, len(phones)):
        if not phones[number - 1] or class_of(phones[number]) not in ("stops", "affricates"):
            continue
        sample, n = round(starts[number] * CONFIG.sample_rate), 0
        while n < most and np.abs(waveform[sample - (n + 1) * step : sample - n * step]).max() < CLOSED:
            n += 1
        found[number] -= n * step / CONFIG.sample_rate
    return found


def with_pause(
    waveform: npt.NDArray[np.float32], starts: npt.NDArray[np.float64], rng: np.random.Generator, seconds: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Insert silence before a random phone in the middle third."""
    place = int(rng.integers(len(starts) // 3, 2 * len(starts) // 3 + 1))
    sample = round(starts[place] * CONFIG.sample_rate)
    silence = np.zeros(round(seconds * CONFIG.sample_rate), np.float32)
    later = np.where(np.arange(len(starts)) >= place, seconds, 0.0)
    return np.concatenate([waveform[:sample], silence, waveform[sample:]]), starts + later


def label(phone: str) -> str:
    """Return a phone without stress; names such as ``@`` and ``3:`` get a letter."""
    return f"{phone.lstrip(STRESS)}_x" if phone else PAUSE


def recordings(spoken: Sequence[Spoken], vocabulary: Vocabulary, config: MelConfig = CONFIG) -> list[Recording]:
    """Return the recordings. Between all phones is a space, at which there may be silence."""
    ids = {symbol: number for number, symbol in enumerate(vocabulary.symbols)}
    extractor = MelExtractor(config)
    found = []
    for one in spoken:
        phonemes = np.full(2 * len(one.phones) + 1, ids[" "], np.int32)
        phonemes[1::2] = [ids[label(phone)] for phone in one.phones]
        found.append(Recording(phonemes, extractor(one.waveform)))
    return found


def vocabulary_of(spoken: Sequence[Spoken]) -> Vocabulary:
    names = sorted({label(phone) for one in spoken for phone in one.phones} - {PAUSE})
    return Vocabulary(("<pad>", " ", PAUSE, *names), 0)


CLASSES: Final = {
    "vowels": ("a", "e", "i", "o", "u", "A", "E", "I", "O", "U", "V", "@", "0", "3", "Y", "W", "y"),
    "stops": ("p", "b", "t", "d", "k", "g", "?"),
    "affricates": ("tS", "dZ", "ts", "dz"),
    "fricatives": ("f", "v", "T", "D", "s", "z", "S", "Z", "h", "x", "C"),
    "nasals": ("m", "n", "N", "n^"),
    "liquids and glides": ("l", "r", "R", "j", "w"),
}
"""Classes of espeak-ng's names of phones by their beginnings; the longest one that fits counts."""


def class_of(phone: str) -> str:
    """Return the class of a phone of espeak-ng."""
    name = phone.lstrip(STRESS)
    fitting = [(len(start), kind) for kind, starts in CLASSES.items() for start in starts if name.startswith(start)]
    return max(fitting)[1] if fitting else "others"


def differences(model: AlignmentModel, spoken: Sequence[Spoken]) -> npt.NDArray[np.float64]:
    """Return the differences of the starts of phones in seconds."""
    found = []
    for one, recording in zip(spoken, recordings(spoken, model.vocabulary), strict=True):
        durations = model.align(recording).durations
        starts = np.concatenate([[0], np.cumsum(durations)])[1:-1:2] * HOP
        found.append((starts - one.closures)[is_compared(one)])
    return np.concatenate(found)


def is_compared(one: Spoken) -> npt.NDArray[np.bool_]:
    """Return which of the phones have a start that is compared."""
    return np.array([bool(phone) for phone in one.phones]) & one.is_timed


def row(name: str, spoken: Sequence[Spoken], errors: npt.NDArray[np.float64]) -> str:
    minutes = sum(len(one.waveform) for one in spoken) / CONFIG.sample_rate / 60
    sizes = np.abs(errors)
    shares = " | ".join(f"{100 * (sizes <= limit).mean():.0f} %" for limit in LIMITS)
    return f"| {name} | {len(spoken)} | {minutes:.1f} | {len(errors):,} | {1000 * np.median(sizes):.1f} ms | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=0.0)
    arguments = parser.parse_args()
    lines = [line.rpartition("|")[2] for line in arguments.texts.read_text("utf-8").splitlines()]
    texts = [line for line in lines if 20 < len(line) < 110 and not any(letter.isdigit() for letter in line)]
    random.Random(0).shuffle(texts)
    decibels = decibels_of_unit(CONFIG.as_dict())
    assert decibels is not None
    limits = " | ".join(f"≤ {1000 * limit:.0f} ms" for limit in LIMITS)
    print(f"| trained on and applied to | utterances | minutes | boundaries | median | {limits} |\n|{' --- |' * 9}")
    model, classes = None, list[str]()
    for condition in conditions():
        spoken = speak(condition, texts)
        vocabulary = vocabulary_of(spoken)
        model_of_these = AlignmentModel.train(recordings(spoken, vocabulary), vocabulary, decibels, HOP)
        errors = differences(model_of_these, spoken)
        print(row(condition.name, spoken, errors), flush=True)
        if condition.name in ("50 voices", "1 voice, de"):
            classes += by_class(condition.name, spoken, errors)
        if condition.name == "50 voices":
            model = model_of_these
            others = replace(condition, voices=[("en-us+m4", 150, 35)])
            new = [one for one in speak(others, texts[300:600]) if {*map(label, one.phones)} <= {*vocabulary.symbols}]
            print(row("that model, another voice, other texts", new, differences(model, new)), flush=True)
    print(f"\n| trained on and applied to | starts of | boundaries | median | {limits} |\n|{' --- |' * 8}")
    print(*classes, sep="\n")
    if arguments.hours:
        print(cost(texts, decibels, arguments.hours))


def by_class(name: str, spoken: Sequence[Spoken], errors: npt.NDArray[np.float64]) -> Iterator[str]:
    """Yield a line for each class of phones, whose starts are compared."""
    classes = np.array(
        [
            class_of(phone)
            for one in spoken
            for phone, wanted in zip(one.phones, is_compared(one), strict=True)
            if wanted
        ]
    )
    for kind in (*CLASSES, "others"):
        sizes = np.abs(errors[classes == kind])
        if len(sizes):
            shares = " | ".join(f"{100 * (sizes <= limit).mean():.0f} %" for limit in LIMITS)
            yield f"| {name} | {kind} | {len(sizes):,} | {1000 * np.median(sizes):.1f} ms | {shares} |"


def cost(texts: Sequence[str], decibels: float, hours: float) -> str:
    """Return a line about the processor time of training on 1,000 utterances and of aligning."""
    spoken = speak(Condition("1 voice", [("en-us+f3", 160, 50)], 1000), texts)
    vocabulary = vocabulary_of(spoken)
    found = recordings(spoken, vocabulary)
    started = time.process_time()
    model = AlignmentModel.train(found, vocabulary, decibels, HOP)
    trained = time.process_time()
    for recording in found:
        model.align(recording)
    seconds = sum(len(one.waveform) for one in spoken) / CONFIG.sample_rate
    aligning = (time.process_time() - trained) / seconds * 3600
    return (
        f"\nTraining on {len(spoken):,} utterances of {seconds / 3600:.2f} h: {trained - started:.1f} s of processor "
        f"time. Aligning: {aligning:.2f} s per hour of audio, {aligning * hours:.0f} s for {hours:g} h."
    )


if __name__ == "__main__":
    main()
