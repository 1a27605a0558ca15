"""Calibrate the aligner's estimate of its boundaries within 20 ms on known times; print markdown tables and the values.

    python conformance/aligner_estimate.py --texts LJSpeech-1.1/metadata.csv timit=corpora/timit one-voice=… lj=…

The corpora are given as for ``aligner_speech.py``, which names them. To them come voices of espeak-ng, with its own
names of phones (``own names``) and with the symbols of the frontend (``frontend``), whose boundaries are the starts of
the symbols with which a phone begins. Of each corpus, models are trained on some recordings, some of them with one
another's texts: there, a boundary is right if the same phone does begin within 20 ms. An estimate is that of the mean
over the recordings. The values are those with the least squared differences over all; the column ``others`` has the
estimate with values from the other kinds of corpora alone; ``most`` is the largest difference of one model in points.

The interval of a store with a minute of speech has ends that are above and below its estimate by constants in logits,
so that 5 % of the true shares are below it and 5 % above, where each kind of corpora counts once, and estimates have
values from the other kinds alone. How often it holds is found by the same on all kinds but one, for that one.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.text.frontends.espeak import EspeakFrontend

Floats = npt.NDArray[np.float64]
SIZES: Final = {1: 8, 2: 6, 4: 6, 10: 4, 20: 3, 50: 2, 250: 1, 900: 1}
"""How many models are trained on so many recordings; a quarter of them for each of the voices."""

EXCHANGED: Final = {4: (1.0,), 20: (1.0,), 50: (0.1, 0.5, 1.0), 250: (0.1, 1.0)}
"""The shares of the texts that are exchanged, by the number of recordings."""

MOST_COMPARED: Final = 40
OTHER_HOPS: Final = (128, 441)
"""Samples at 22,050 Hz, with fewer models of fewer corpora."""

OTHER_SIZES: Final = (1, 4, 20, 50, 250)
COVERAGE: Final = 0.9
LEAST_MINUTES: Final = 1.0
"""The least speech for which the command gives an estimate; intervals are those of such stores."""

LEAST_SHARE: Final = 0.01
"""The least distance from 0 and 1 of shares whose logits are taken."""


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
    hop_seconds: float
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
    seed: int
    minutes: float
    has_own_text: bool
    truth: float
    evidence: Floats
    weights: Floats

    @property
    def condition(self) -> tuple[str, float, int, float, bool]:
        return self.corpus.kind, self.corpus.hop_seconds, self.n, self.exchanged, self.has_own_text


@dataclass(frozen=True)
class Store:
    """The true share of the boundaries of all recordings that a model was trained on, and the estimate."""

    condition: tuple[str, float, int, float]
    truth: float
    estimate: float

    @property
    def kind(self) -> str:
        return self.condition[0]


def real(argument: str, config: MelConfig) -> Corpus:
    name, _, where = argument.partition("=")
    labelled = list(aligner_speech.read_corpus(where, config))
    vocabulary, known = aligner_speech.vocabulary_of(labelled), []
    for one in labelled:
        recording, places = aligner_speech.recording_of(one, vocabulary)
        starts = np.array([start for start, _ in aligner_speech.spoken(one)])
        known.append(Known(recording, np.array(places), starts))
    return Corpus(name, name, config.hop_length / config.sample_rate, vocabulary, known)


def with_own_names(condition: aligner.Condition, texts: Sequence[str], config: MelConfig) -> Corpus:
    spoken = aligner.speak(condition, texts)
    vocabulary, known = aligner.vocabulary_of(spoken), []
    for one, recording in zip(spoken, aligner.recordings(spoken, vocabulary, config), strict=True):
        wanted = aligner.is_compared(one)
        known.append(Known(recording, 1 + 2 * np.flatnonzero(wanted), one.closures[wanted]))
    return Corpus(condition.name, "own names", config.hop_length / config.sample_rate, vocabulary, known)


def with_frontend(condition: aligner.Condition, texts: Sequence[str], config: MelConfig) -> Corpus:
    """Return recordings with the symbols of the frontend. Where espeak-ng says other phones, times are not known."""
    language = {"fr": "fr-fr"}.get(code := condition.voices[0][0].partition("+")[0], code)
    frontend, extractor = EspeakFrontend(language), MelExtractor(config)
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
    return Corpus(condition.name, "frontend", config.hop_length / config.sample_rate, vocabulary, known)


def voices(texts: Sequence[str], config: MelConfig) -> Iterator[Corpus]:
    five = [("en-us", 165, 50), ("en-us+f3", 160, 50), ("en-us+m3", 185, 45), ("en-us+f2", 175, 60)]
    conditions = [
        aligner.Condition("1 voice", five[1:2], 250),
        aligner.Condition("4 voices", five, 250),
        aligner.Condition("4 voices, noise at 10 dB", five, 150, noise_db=10),
        *(aligner.Condition(f"1 voice, {code}", [(f"{code}+f3", 150, 45)], 100) for code in ("de", "fr", "es", "pl")),
    ]
    for number, condition in enumerate(conditions):
        if config is aligner.CONFIG or condition.name in ("1 voice", "1 voice, de"):
            yield with_own_names(condition, texts[300 * number :], config)
            yield with_frontend(condition, texts[300 * number + 150 :], config)


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
    model = AlignmentModel.train([one.recording for one in chosen], corpus.vocabulary, decibels, corpus.hop_seconds)
    minutes = sum(len(one.recording.mel) for one in chosen) * corpus.hop_seconds / 60
    rows: dict[bool, list[tuple[float, float, tuple[float, float, float]]]] = {}
    for number in rng.sample(range(len(chosen)), min(MOST_COMPARED, len(chosen))) + moved[:MOST_COMPARED]:
        found = model.align(chosen[number].recording)
        starts = np.concatenate([found.silences[:1], np.cumsum(found.durations)[:-1]]) * corpus.hop_seconds
        are_right = right(chosen[number], own[number], corpus.vocabulary, starts)
        if len(are_right) and np.isfinite(found.score):
            row = len(are_right), are_right.mean(), found.evidence
            rows.setdefault(chosen[number] is own[number], []).append(row)
    for has_own_text, of_rows in rows.items():
        weights, shares, evidence = (np.array(values, np.float64) for values in zip(*of_rows, strict=True))
        parts = weights / weights.sum()
        yield Result(corpus, len(own), exchanged, seed, minutes, has_own_text, float(parts @ shares), evidence, parts)


def results(corpora: Iterable[Corpus], decibels: float) -> Iterator[Result]:
    for corpus in corpora:
        is_real, is_usual = corpus.kind == corpus.name, corpus.hop_seconds == aligner.HOP
        sizes = {min(n, len(corpus.known)): n for n in reversed(SIZES) if is_usual or n in OTHER_SIZES}
        for size, n in sorted(sizes.items()):
            for seed in range(-(-SIZES[n] // (1 if is_real else 4)) if is_usual else 1):
                for share in (0.0, *(EXCHANGED.get(n, ()) if seed < 2 and size >= 4 else ())):
                    yield from trained(corpus, size, share, seed, decibels)
        print(f"{corpus.kind}, {corpus.name}, {1000 * corpus.hop_seconds:.1f} ms: done", flush=True)


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


def stores(found: Sequence[Result], values: Mapping[str, Floats]) -> list[Store]:
    """Return the stores of a minute and more, with estimates by the values for each kind."""
    parts: dict[Any, list[tuple[float, float, float, float]]] = {}
    for one in found:
        share = 1 - one.exchanged if one.has_own_text else one.exchanged
        key = one.condition[:4], one.corpus.name, one.seed
        parts.setdefault(key, []).append((share, one.truth, estimates(values[one.corpus.kind], one), one.minutes))
    rows = [(condition, np.array(of_key)) for (condition, *_), of_key in parts.items()]
    return [
        Store(condition, *np.average(row[:, 1:3], axis=0, weights=row[:, 0]).tolist())
        for condition, row in rows
        if row[0, 3] >= LEAST_MINUTES
    ]


def logit(shares: Floats) -> Floats:
    bounded = np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)
    found: Floats = np.log(bounded / (1 - bounded))
    return found


def interval(found: Sequence[Store]) -> Floats:
    """Return how far the lower and the upper end are from the estimate, in logits."""
    counts = Counter(one.condition for one in found)
    n_conditions = Counter(kind for kind, *_ in counts)
    differences = logit(np.array([one.truth for one in found])) - logit(np.array([one.estimate for one in found]))
    order = np.argsort(differences)
    weights = np.array([1 / counts[one.condition] / n_conditions[one.kind] for one in found])[order]
    sums = np.cumsum(weights) / weights.sum()
    lines: Floats = differences[order][np.searchsorted(sums, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])]
    return lines


def without_each(found: Sequence[Result]) -> dict[str, Floats]:
    """Return the values from the results of all other kinds, for each kind."""
    kinds = {one.corpus.kind for one in found}
    return {kind: fitted([one for one in found if one.corpus.kind != kind]) for kind in kinds}


def coverage(found: Sequence[Result], without: Mapping[str, Floats]) -> Iterator[str]:
    """Yield a line for each kind, with how often an interval holds that the kind had no part in."""
    for kind, values in without.items():
        others = [one for one in found if one.corpus.kind != kind]
        below, above = interval(stores(others, without_each(others)))
        held = stores([one for one in found if one.corpus.kind == kind], {kind: values})
        for texts in ("own", "exchanged"):
            these = [one for one in held if (one.condition[3] > 0) == (texts == "exchanged")]
            middles, truths = logit(np.array([one.estimate for one in these])), np.array([one.truth for one in these])
            low, high = (1 / (1 + np.exp(-(middles + end))) for end in (below, above))
            n = np.sum((low <= truths) & (truths <= high))
            yield f"| {kind} | {texts} | {n} of {len(these)} | {100 * (high - low).mean():.0f} |"


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
    found = list[Result]()
    for config in (aligner.CONFIG, *(dataclasses.replace(aligner.CONFIG, hop_length=hop) for hop in OTHER_HOPS)):
        found += results(chain((real(one, config) for one in arguments.corpora), voices(texts, config)), decibels)
    values, without = fitted(found), without_each(found)
    print(f"\nmost, constant, mass, deviation, score = {np.round(values, 3).tolist()}")
    print(f"lower, upper = {np.round(interval(stores(found, without)), 3).tolist()}\n")
    rows: dict[Any, list[tuple[float, float, float]]] = {}
    for one in found:
        row = one.truth, estimates(values, one), estimates(without[one.corpus.kind], one)
        rows.setdefault(one.condition, []).append(row)
    names = "corpus | hop | recordings | exchanged | text | models | true | estimate | others | most"
    print(f"| {names} |\n|{' --- |' * 10}")
    for (kind, hop, n, exchanged, has_own_text), of_row in rows.items():
        true, estimate, other = 100 * np.mean(of_row, axis=0)
        most = 100 * max(abs(row[1] - row[0]) for row in of_row)
        shares = f"{true:.0f} % | {estimate:.0f} % | {other:.0f} %"
        text = "own" if has_own_text else "other"
        what = f"{kind} | {1000 * hop:.1f} ms | {n} | {exchanged:.0%} | {text}"
        print(f"| {what} | {len(of_row)} | {shares} | {most:.0f} |")
    print(f"\n| corpus | texts | in the interval | mean width in points |\n|{' --- |' * 4}")
    print(*coverage(found, without), sep="\n")


if __name__ == "__main__":
    main()
