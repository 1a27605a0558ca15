"""Calibrate the aligner's estimate of its boundaries within 20 ms on known times; print markdown tables and the values.

    python conformance/aligner_estimate.py --texts LJSpeech-1.1/metadata.csv timit=corpora/timit one-voice=… lj=…

The corpora are given as for ``aligner_speech.py``, which names them. To them come voices of espeak-ng, with its own
names of phones (``own names``) and with the symbols of the frontend (``frontend``), whose boundaries are the starts of
the symbols with which a phone begins. Of each corpus, models are trained on some recordings, some of them with one
another's texts: there, a boundary is right if the same phone does begin within 20 ms. An estimate is that of the mean
over the recordings. The values are those with the least squared differences over all; the column ``others`` has the
estimate with values from the other kinds of corpora alone; ``most`` is the largest difference of one model in points.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aligner
import aligner_speech
import numpy as np
import numpy.typing as npt
from phonemizer.backend import EspeakBackend
from phonemizer.separator import Separator
from scipy.optimize import least_squares

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.acoustics.phones.symbols import PHONE
from tts_prep.aligner.model import LIMIT_SECONDS, AlignmentModel, Recording, Vocabulary
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend

Floats = npt.NDArray[np.float64]
SIZES: Final = {1: 8, 2: 6, 4: 6, 10: 4, 20: 3, 50: 2, 250: 1, 900: 1}
"""How many models are trained on so many recordings; a quarter of them for each of the voices."""

EXCHANGED: Final = {4: (1.0,), 20: (1.0,), 50: (0.1, 0.5, 1.0), 250: (0.1, 1.0)}
"""The shares of the texts that are exchanged, by the number of recordings."""

MOST_COMPARED: Final = 40


@dataclass(frozen=True, eq=False)
class Known:
    """A recording, the places of its phones, and the second at which each begins; none if they are not known."""

    recording: Recording
    places: npt.NDArray[np.int64]
    starts: Floats


@dataclass(frozen=True, eq=False)
class Corpus:
    name: str
    kind: str
    vocabulary: Vocabulary
    known: Sequence[Known]


@dataclass(frozen=True, eq=False)
class Result:
    """The share of right boundaries and the evidence, [n, 3], of recordings of a model, with their weights.

    Recordings with another text than their own have results of their own.
    """

    corpus: Corpus
    n: int
    exchanged: float
    has_own_text: bool
    truth: float
    evidence: Floats
    weights: Floats

    @property
    def condition(self) -> tuple[str, int, float, bool]:
        return self.corpus.kind, self.n, self.exchanged, self.has_own_text


def real(argument: str) -> Corpus:
    name, _, where = argument.partition("=")
    labelled = list(aligner_speech.read_corpus(where))
    vocabulary, known = aligner_speech.vocabulary_of(labelled), []
    for one in labelled:
        recording, places = aligner_speech.recording_of(one, vocabulary)
        starts = np.array([start for start, _ in aligner_speech.spoken(one)])
        known.append(Known(recording, np.array(places), starts))
    return Corpus(name, name, vocabulary, known)


def with_own_names(condition: aligner.Condition, texts: Sequence[str]) -> Corpus:
    spoken = aligner.speak(condition, texts)
    vocabulary, known = aligner.vocabulary_of(spoken), []
    for one, recording in zip(spoken, aligner.recordings(spoken, vocabulary), strict=True):
        wanted = aligner.is_compared(one)
        known.append(Known(recording, 1 + 2 * np.flatnonzero(wanted), one.starts[wanted]))
    return Corpus(condition.name, "own names", vocabulary, known)


def with_frontend(condition: aligner.Condition, texts: Sequence[str]) -> Corpus:
    """Return recordings with the symbols of the frontend. Where espeak-ng says other phones, times are not known."""
    language = {"fr": "fr-fr"}.get(code := condition.voices[0][0].partition("+")[0], code)
    frontend, extractor = EspeakFrontend(language), MelExtractor(aligner.CONFIG)
    frontend.phoneticize(texts[0])  # makes espeak-ng known to phonemizer
    backend = EspeakBackend(language, with_stress=True, preserve_punctuation=True, language_switch="remove-flags")
    vocabulary = Vocabulary(tuple(frontend.vocab.symbols), frontend.vocab.pad)
    letters = {symbol for symbol, kind in zip(vocabulary.symbols, vocabulary.kinds, strict=True) if kind == PHONE}
    known = []
    for one, text in zip(aligner.speak(condition, texts), texts, strict=False):
        ids = np.array(frontend.numericalize(frontend.phoneticize(frontend.normalize(text))), np.int32)
        (separated,) = backend.phonemize([text], separator=Separator(phone="_", word=" "))
        phones = [[letter for letter in phone if letter in letters] for phone in re.split("[ _]", separated)]
        phones = [phone for phone in phones if phone]
        # A palatal glide and a linking r are parts of the phone before.
        spoken = np.array([bool(name) and name not in (";", "r-") for name in one.phones])
        said, is_timed = one.closures[spoken], one.is_timed[spoken]
        places = np.flatnonzero(vocabulary.kinds[ids] == PHONE)
        same = [vocabulary.symbols[number] for number in ids[places]] == [*"".join(map("".join, phones))]
        firsts = np.cumsum([0, *map(len, phones)])[:-1]
        is_known = is_timed if same and len(said) == len(phones) else np.zeros(0, np.bool_)
        recording = Recording(ids, extractor(one.waveform))
        known.append(Known(recording, places[firsts[: len(is_known)]][is_known], said[: len(is_known)][is_known]))
    return Corpus(condition.name, "frontend", vocabulary, known)


def voices(texts: Sequence[str]) -> Iterator[Corpus]:
    five = [("en-us", 165, 50), ("en-us+f3", 160, 50), ("en-us+m3", 185, 45), ("en-us+f2", 175, 60)]
    conditions = [
        aligner.Condition("1 voice", five[1:2], 250),
        aligner.Condition("4 voices", five, 250),
        aligner.Condition("4 voices, noise at 10 dB", five, 150, noise_db=10),
        *(aligner.Condition(f"1 voice, {code}", [(f"{code}+f3", 150, 45)], 100) for code in ("de", "fr", "es", "pl")),
    ]
    for number, condition in enumerate(conditions):
        yield with_own_names(condition, texts[300 * number :])
        yield with_frontend(condition, texts[300 * number + 150 :])


def right(known: Known, others: Known, vocabulary: Vocabulary, starts: Floats) -> npt.NDArray[np.bool_]:
    """Return which boundaries are right.

    Args:
        others: the recording with its own text.
        starts: the second at which each phoneme begins.
    """
    if known is others:
        return np.abs(starts[known.places] - known.starts) <= LIMIT_SECONDS
    ids = known.recording.phonemes
    places = np.flatnonzero(vocabulary.kinds[ids] == PHONE)
    near = np.abs(starts[places][:, None] - others.starts) <= LIMIT_SECONDS
    same: npt.NDArray[np.bool_] = ids[places][:, None] == others.recording.phonemes[others.places]
    found: npt.NDArray[np.bool_] = (near & same).any(axis=1)
    return found if len(others.starts) else found[:0]


def trained(corpus: Corpus, n: int, exchanged: float, seed: int, decibels: float) -> Iterator[Result]:
    rng = random.Random(seed)
    own = rng.sample(corpus.known, min(n, len(corpus.known)))
    chosen = list(own)
    moved = rng.sample(range(len(own)), round(exchanged * len(own)))
    for number, other in zip(moved, [*moved[1:], *moved[:1]], strict=True):
        mixed = Recording(own[other].recording.phonemes, own[number].recording.mel)
        chosen[number] = Known(mixed, own[number].places, own[number].starts)
    model = AlignmentModel.train([one.recording for one in chosen], corpus.vocabulary, decibels, aligner.HOP)
    rows: dict[bool, list[tuple[float, float, tuple[float, float, float]]]] = {}
    for number in rng.sample(range(len(chosen)), min(MOST_COMPARED, len(chosen))) + moved[:MOST_COMPARED]:
        found = model.align(chosen[number].recording)
        starts = np.concatenate([found.silences[:1], np.cumsum(found.durations)[:-1]]) * aligner.HOP
        are_right = right(chosen[number], own[number], corpus.vocabulary, starts)
        if len(are_right) and np.isfinite(found.score):
            row = len(are_right), are_right.mean(), found.evidence
            rows.setdefault(chosen[number] is own[number], []).append(row)
    for has_own_text, of_rows in rows.items():
        weights, shares, evidence = (np.array(values, np.float64) for values in zip(*of_rows, strict=True))
        parts = weights / weights.sum()
        yield Result(corpus, len(own), exchanged, has_own_text, float(parts @ shares), evidence, parts)


def results(corpora: Sequence[Corpus], decibels: float) -> Iterator[Result]:
    for corpus in corpora:
        is_real, sizes = corpus.kind == corpus.name, {min(n, len(corpus.known)): n for n in reversed(SIZES)}
        for size, n in sorted(sizes.items()):
            for seed in range(-(-SIZES[n] // (1 if is_real else 4))):
                for share in (0.0, *(EXCHANGED.get(n, ()) if seed < 2 and size >= 4 else ())):
                    yield from trained(corpus, size, share, seed, decibels)
        print(f"{corpus.kind}, {corpus.name}: done", flush=True)


def estimates(values: Floats, result: Result) -> float:
    most, constant, of_mass, of_deviation, of_score = values
    mass = np.clip(result.evidence[:, 0], 0.02, 0.995)
    exponent = constant + of_mass * np.log(mass / (1 - mass)) + of_deviation * np.log(result.evidence[:, 1])
    exponent = exponent + of_score * result.evidence[:, 2]
    return float(result.weights @ (most / (1 + np.exp(-exponent))))


def fitted(found: Sequence[Result]) -> Floats:
    """Return the values with the least squared differences; each condition of each kind of corpus counts once."""
    counts = Counter(result.condition for result in found)
    weights = [counts[result.condition] ** -0.5 for result in found]

    def differences(values: Floats) -> list[float]:
        errors = [w * (estimates(values, one) - one.truth) for w, one in zip(weights, found, strict=True)]
        return [*errors, 0.04 * (values[0] - 0.85), *(0.002 * values[2:])]

    best: Floats = least_squares(differences, [0.85, -0.5, 1.0, 1.0, 0.0]).x
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="NAME=RECORDINGS[:LABELS[:TIER]]")
    parser.add_argument("--texts", type=Path, required=True)
    arguments = parser.parse_args()
    decibels = decibels_of_unit(aligner.CONFIG.as_dict())
    assert decibels is not None
    lines = [line.rpartition("|")[2] for line in arguments.texts.read_text("utf-8").splitlines()]
    texts = [line for line in lines if 20 < len(line) < 110 and not any(letter.isdigit() for letter in line)]
    random.Random(0).shuffle(texts)
    found = list(results([*map(real, arguments.corpora), *voices(texts)], decibels))
    values = fitted(found)
    without = {
        kind: fitted([one for one in found if one.corpus.kind != kind]) for kind in {one.corpus.kind for one in found}
    }
    print(f"\nmost, constant, mass, deviation, score = {np.round(values, 3).tolist()}\n")
    rows: dict[Any, list[tuple[float, float, float]]] = {}
    for one in found:
        row = one.truth, estimates(values, one), estimates(without[one.corpus.kind], one)
        rows.setdefault(one.condition, []).append(row)
    print(f"| corpus | recordings | exchanged | text | models | true | estimate | others | most |\n|{' --- |' * 9}")
    for (kind, n, exchanged, has_own_text), of_row in rows.items():
        true, estimate, other = 100 * np.mean(of_row, axis=0)
        most = 100 * max(abs(row[1] - row[0]) for row in of_row)
        shares = f"{true:.0f} % | {estimate:.0f} % | {other:.0f} %"
        text = "own" if has_own_text else "other"
        print(f"| {kind} | {n} | {exchanged:.0%} | {text} | {len(of_row)} | {shares} | {most:.0f} |")


if __name__ == "__main__":
    main()
