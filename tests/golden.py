"""The values of this version, made from inputs of formulas, and recorded in ``golden.json``.

Stores record versions, by which later commands know that values would differ today. A version that is not raised with
the values leaves old ones beside new ones, in silence. So what a version stands for is compared with its record:

    python tests/golden.py      # after raising the version that the test names

writes the record again. It refuses where values differ and the version does not.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

RECORD = Path(__file__).with_name("golden.json")
DATA = Path(__file__).parent / "english" / "data"
FORMS = Path(__file__).parent / "figures" / "forms.tsv"
RATE = 22_050
TOLERANCE = 2e-4
"""Relative to a number, and a tenth of it to the largest of a value. Processors differ by 1e-6."""

Value = list[float] | str
Values = dict[str, Value]


@dataclass(frozen=True)
class Section:
    """What one version stands for.

    Attributes:
        where: the module and the name of the version.
        values: returns name → numbers, or a digest of a text; its argument is a folder for files.
    """

    where: str
    values: Callable[[Path], Values]

    @property
    def version(self) -> str:
        """The version of now."""
        module, _, name = self.where.partition(":")
        return str(getattr(importlib.import_module(module), name))


def _numbers(name: str, array: Iterable[Any]) -> Values:
    """Return the shape of an array, and mean, standard deviation and seven of its numbers."""
    array = np.asarray(array)
    flat = array.astype(np.float64).ravel()
    some = flat[np.linspace(0, len(flat) - 1, 7).astype(int)]
    numbers = [float(f"{n:.8g}") for n in (flat.mean(), flat.std(), *some)]
    return {name: numbers, f"shape of {name}": str(array.shape)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _voice(seconds: float, pitch: float, rate: int) -> np.ndarray:
    """Return a gliding voice with pauses and a soft noise, [n_samples] float64 within ±0.5."""
    time = np.arange(round(seconds * rate)) / rate
    phase = 2 * np.pi * pitch * (time + 0.1 * np.sin(3 * time))
    sound = sum(np.sin(k * phase + k * k) / k for k in range(1, 15))
    loud = np.clip(2 * np.sin(2 * np.pi * 1.3 * time), 0, 1)
    noise = np.modf(np.sin(np.arange(len(time)) * 12.9898) * 43758.5453)[0]
    return 0.15 * loud * sound + 0.0015 * noise


TEXTS = (
    "Printing, in the only sense with which we are at present concerned.",
    "It was 3:45 pm; the invention dates from 1455.",
    "Has never been surpassed!",
    "Dr. Smith bought 12 of them for $4.50.",
    "Has never been surpassed!",
    "The earliest book printed with movable types.",
)


def _write_corpus(root: Path) -> None:
    (root / "wavs").mkdir(parents=True)
    rows = []
    for number, text in enumerate(TEXTS):
        sound = _voice(1.0 + 0.3 * number, 95 + 31 * number, RATE)
        soundfile.write(root / "wavs" / f"G-{number}.wav", np.rint(sound * 32_767).astype(np.int16), RATE)
        rows.append(f"G-{number}|{text}|{text}\n")
    (root / "metadata.csv").write_text("".join(rows), encoding="utf-8")


def _store(folder: Path) -> Any:
    """Return a dataset with waveforms and the features that need no alignments."""
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import configure, prepare, read_corpus
    from tts_prep.preprocess.features.kinds import make_feature

    store = folder / "store"
    if not store.exists():
        _write_corpus(folder / "corpus")
        rows, root = read_corpus("ljspeech", folder / "corpus")
        settings = {"store": {"waveform_dtype": "int16"}, "text": {"frontend": "characters"}}
        configuration = configure("ljspeech", preset="hifigan", settings=settings)
        features = [make_feature(name, given, configuration.mel) for name, given in FEATURES.items()]
        prepare(rows, root, store, configuration, features=features)
    return UtteranceDataset(store)


FEATURES: Mapping[str, Mapping[str, str]] = {"pitch": {}, "energy": {}, "spectrogram": {}}


def of_aligner(_: Path) -> Values:
    """Return durations and scores of a model that is trained on noisy phones with a peak each."""
    from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary, estimated_share

    symbols = ("<pad>", " ", ",", "a", "b", "s", "t")
    peaks = {"a": 3, "b": 8, "s": 13, "t": 17}
    noise = np.random.default_rng(0)
    recordings = []
    for number in range(24):
        text = "ab,sta bats tab"[number % 5 :] + "sbat"[: number % 4]
        frames = [0 if symbol == " " else 3 + (number * 7 + place * 5) % 6 for place, symbol in enumerate(text)]
        mel = np.concatenate(
            [
                np.tile(7 * np.exp(-((np.arange(20) - peaks.get(symbol, -99)) ** 2) / 8), (n, 1))
                for symbol, n in zip(text, frames, strict=True)
            ]
        )
        mel = (mel - 9 + noise.random(mel.shape) - 0.5).astype(np.float32)
        recordings.append(Recording(np.array([symbols.index(symbol) for symbol in text], np.int32), mel))
    model = AlignmentModel.train(recordings, Vocabulary(symbols, 0), 20 / math.log(10), 0.0116)
    aligned = [model.align(recording) for recording in recordings]
    return {
        "durations": [float(n) for found in aligned for n in found.durations],
        "scores": [float(f"{found.score:.6g}") for found in aligned],
        "estimates": [found.within for found in aligned],
        "evidence": [float(f"{n:.6g}") for found in aligned[:6] for n in found.evidence],
        # Of other evidence than this model's, whose estimates are the largest that there is.
        "shares": [
            estimated_share(mass, deviation, score)
            for mass in (0.2, 0.5, 0.8)
            for deviation in (0.5, 2.0)
            for score in (-2.0, 0.0)
        ],
    }


def of_measures(folder: Path) -> Values:
    """Return the measures of a small store."""
    from tts_prep.checks import MEASURES, measure

    found = measure(_store(folder))
    return {one.name: [float(f"{n:.7g}") for n in found.columns[one.name]] for one in MEASURES}


def of_heteronyms(_: Path) -> Values:
    """Return the pronunciations of every word in sentences that decide differently, and of some beside every word."""
    from tts_prep.english import heteronyms

    def chosen(word: str, *sentences: str) -> str:
        found = [heteronyms.choose_pronunciations(text.split())[text.split().index(word)] for text in sentences]
        return "".join(str(heteronyms.HETERONYMS[word].index(one)) for one in found)

    contexts = (
        *("the {} .", "to {} it", "they {} the old one", "he had {} it", "an old {} was here", "due to {} sales"),
        *("i will not {} now", "{} in the lake", "yesterday we {} there", "is it {} ?", "the {} of music", "all {}"),
        *("it is quite {}", "she never {}", "who {} them", "one {} and two", "let me {} that", "{}"),
    )
    found: Values = {word: chosen(word, *(c.format(word) for c in contexts)) for word in heteronyms.HETERONYMS}
    some = ("bass", "bow", "close", "dove", "lead", "live", "present", "read", "record", "separate", "sow", "tear")
    known = frozenset[str]().union(*(words for words in vars(heteronyms).values() if isinstance(words, frozenset)))
    for word in sorted(known - heteronyms.HETERONYMS.keys()):
        found[f"beside {word}"] = "".join(chosen(one, f"{word} {one} .", f"the {one} of {word} .") for one in some)
    return found


def of_package(folder: Path) -> Values:
    """Return what has no version but that of the package: mels, waveforms, features and texts."""
    return {**_mels(folder), **_cleaned(), **_features(folder), **_texts()}


def _mels(folder: Path) -> Values:
    from tts_prep.preprocess.audio.presets import DESCRIPTIONS
    from tts_prep.signals.processor import AudioProcessor

    clip = folder / "clip.wav"
    both = np.stack([_voice(0.8, 130, 40_000), 0.5 * _voice(0.8, 210, 40_000)], 1)
    soundfile.write(clip, np.rint(both * 32_767).astype(np.int16), 40_000)
    found: Values = {}
    for name in DESCRIPTIONS:
        processor = AudioProcessor.from_preset(name)
        found.update(_numbers(f"mel of {name}", processor.mel_spectrogram(processor.read_wav(clip))))
    return found


def _cleaned() -> Values:
    from tts_prep.preprocess.audio.cleaning import CleaningConfig
    from tts_prep.signals.cleaner import adjust_level, filtered, trimming_cut

    sound = np.pad(_voice(1.5, 120, RATE), 9000).astype(np.float32)
    cut = trimming_cut(sound, RATE, CleaningConfig(trim_db=30.0))
    return {
        "trimming": [float(cut.start), float(cut.stop)],
        **_numbers("high-pass", filtered(sound, RATE, CleaningConfig(highpass=80.0))),
        **_numbers("loudness", adjust_level(sound, RATE, CleaningConfig(loudness=-20.0)).waveform),
        **_numbers("limiter", adjust_level(sound, RATE, CleaningConfig(limiter=-20.0)).waveform),
    }


def _features(folder: Path) -> Values:
    dataset = _store(folder)
    found: Values = {}
    for utterance in dataset:
        for name, array in {"waveform": utterance.waveform, "mel": utterance.mel, **utterance.arrays}.items():
            found.update(_numbers(f"{name} of {utterance.id}", array))
        found[f"symbols of {utterance.id}"] = [float(n) for n in utterance.phonemes]
    return found


def _texts() -> Values:
    """Return digests of normalized texts, by digests of the texts: of those that tests have."""
    from tts_prep import figures
    from tts_prep.english.normalization import normalize_english
    from tts_prep.languages.chinese.normalization import normalize_chinese
    from tts_prep.languages.korean import normalize_korean

    def column(pattern: str, number: int) -> Iterable[str]:
        for path in sorted(DATA.glob(pattern)):
            yield from (line.split("\t")[number] for line in path.read_text("utf-8").splitlines())

    signs = [
        *("3,5%", "2024-05-06 07:08", "12:30", "1/2", "3.14", "-5°C", "25kg", "100,000", "010-1234-5678", "5~10"),
        *(
            "￥35.5",
            "2008年8月8日",
            "第3章",
            "３０％",
            "2명",
            "5시 30분",
            "1.5km",
            "$12",
            "A4",
            "2:1",
            "10月1日",
            "200",
            "20",
            "2",
        ),
    ]
    texts = {
        "english": (normalize_english, [*column("english_*.tsv", 1), *column("number_words.tsv", 0)]),
        "chinese": (normalize_chinese, signs),
        "korean": (normalize_korean, signs),
    }
    for line in FORMS.read_text("utf-8").splitlines():
        language, _, written, _ = line.split("\t")
        texts.setdefault(f"figures of {language}", (getattr(figures, language), []))[1].append(written)
    # A text that no other test has any more is still one that the version stands for.
    recorded = read_record()["package"]["values"] if RECORD.exists() else {}
    of_record = [name.partition(": ") for name in recorded]
    cases = [(name, texts[name][0], text) for name, _, text in of_record if name in texts]
    cases += [(name, function, text) for name, (function, given) in texts.items() for text in given]
    return {f"{name}: {text}": _digest(function(text)) for name, function, text in cases}


SECTIONS: Mapping[str, Section] = {
    "durations": Section("tts_prep.aligner.training:_VERSION", of_aligner),
    "measures": Section("tts_prep.checks.catalogue:VERSION", of_measures),
    "heteronyms": Section("tts_prep.english.heteronyms:VERSION", of_heteronyms),
    "package": Section("tts_prep:__version__", of_package),
}


def is_close(one: Value, other: Value) -> bool:
    """Return whether two values are equal, numbers as near as processors and libraries let them be."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and bool(
        np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * _scale(one), equal_nan=True)
    )


def _scale(numbers: list[float]) -> float:
    return max((abs(number) for number in numbers if math.isfinite(number)), default=0) * 0.1


def differences(recorded: Mapping[str, Value], made: Mapping[str, Value]) -> list[str]:
    """Return the names of values that differ or are gone; another input that was added is no difference."""
    return [name for name in recorded if name not in made or not is_close(recorded[name], made[name])]


def kept(recorded: Mapping[str, Value], made: Mapping[str, Value]) -> Values:
    """Return what is made, as it was recorded where it does not differ.

    Otherwise each processor on which something is recorded would move all numbers by its last digits.
    """
    return {name: recorded[name] if is_close(recorded.get(name, []), value) else value for name, value in made.items()}


def read_record() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def main() -> None:
    recorded = read_record() if RECORD.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        made = {
            name: {"version": section.version, "values": section.values(Path(folder))}
            for name, section in SECTIONS.items()
        }
    for name, new in made.items():
        old = recorded.get(name, new)
        if old["version"] == new["version"] and (differ := differences(old["values"], new["values"])):
            sys.exit(f"{len(differ)} values differ, such as {differ[0]}: raise {SECTIONS[name].where}")
        new["values"] = kept(old["values"], new["values"])
    # A value a line, so that a change is one.
    lists = re.compile(r"\[[^]]*\]")
    text = lists.sub(lambda found: " ".join(found[0].split()), json.dumps(made, indent=0))
    RECORD.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
