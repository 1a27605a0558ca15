"""The model of an aligner: trained on transcripts and their mels, saved as text, and how close its boundaries are."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels, with_contrast
from tts_prep.acoustics.phones import model as phone_model
from tts_prep.acoustics.phones.symbols import MAX_CLASSES, PHONE, STRESS, PhoneClasses, symbol_kinds
from tts_prep.acoustics.phones.viterbi import SILENCE, Transcript, frame_places, start_masses
from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.toml_files import read_toml

LIMIT_SECONDS: Final = 0.02
"""The difference up to which a boundary counts as close."""

_TABLE: Final = read_toml(__package__, "calibration.toml")
_LEAST, _MOST = 0.02, 0.995
"""The probabilities between which logarithms are taken."""


def start_mass(
    scores: phone_model.Floats,
    states: Transcript,
    places: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    hop_seconds: float,
) -> float:
    """Return the mean probability that a phone begins within `LIMIT_SECONDS` of the place that it was given.

    Args:
        scores: of a recording, from `PhoneModel.scores`.
        states, places, starts: the aligned states, the one of each frame, and those at which phones begin.
        hop_seconds: seconds per frame.
    """
    scaled = scores * np.float32(_TABLE["weight"] * hop_seconds)
    window = max(1, round(LIMIT_SECONDS / hop_seconds))
    return float(start_masses(scaled, states, places, starts, window).mean(dtype=np.float64))


def estimated_share(mass: float, deviation: float, score: float) -> float:
    """Return the share of boundaries within `LIMIT_SECONDS` of the true ones.

    It is most / (1 + exp(-(constant + a · logit(mass) + b · ln(deviation) + c · score))), with the values of
    ``calibration.toml``.

    Args:
        mass: from `start_mass`: how certain the boundaries are.
        deviation: the mean standard deviation over the classes of the scores of frames: how distinct sounds are.
        score: that of the alignment: how well frames fit their phones.
    """
    bounded = min(max(mass, _LEAST), _MOST)
    exponent = _TABLE["constant"] + _TABLE["mass"] * np.log(bounded / (1 - bounded))
    exponent += _TABLE["deviation"] * np.log(max(deviation, _LEAST)) + _TABLE["score"] * score
    exponent = max(float(exponent), -500.0)  # exp overflows from about 709 on
    return round(float(_TABLE["most"] / (1 + np.exp(-exponent))), 4)


MAX_STATES: Final = 3
"""The maximum number of states of a phone."""

_FRAMES_PER_STATE: Final = 1.7
"""The minimum mean number of frames of speech per state; with fewer, short phones would get frames of others."""


def n_state_classes(n_classes: int, n_states: int) -> int:
    """Return the number of classes of the states of phones, and silence."""
    return 1 + (n_classes - 1) * n_states


def state_transcript(transcript: Transcript, n_states: int, n_frames: int) -> tuple[Transcript, phone_model.Integers]:
    """Return the states of a transcript, and the place in the transcript of each.

    The states of the phone with the class c are the classes 1 + (c - 1) * n_states and following. All phones have fewer
    states if the recording has not enough frames.

    Args:
        n_frames: at least the number of phones.
    """
    used = _used_states(transcript, n_states, n_frames)
    sizes = np.where(transcript.optional, 1, len(used))
    places = np.repeat(np.arange(len(sizes)), sizes)
    of_phone = used[np.arange(len(places)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    classes = np.where(
        transcript.optional[places], SILENCE, _state_class(transcript.classes[places], of_phone, n_states)
    )
    return Transcript(classes, transcript.optional[places]), places


def phone_scores(scores: phone_model.Floats, classes: phone_model.Integers, n_states: int) -> phone_model.Floats:
    """Return the score of the best state of the phone of each frame, [n_frames].

    Args:
        scores: [n_frames, n_state_classes].
        classes: [n_frames], the class of the phone of each frame, which is not silence.
    """
    best: phone_model.Floats = scores[
        np.arange(len(scores))[:, None], _state_class(classes[:, None], np.arange(n_states), n_states)
    ].max(axis=1)
    return best


def fit_states(
    frames: Sequence[phone_model.Floats],
    speech: Sequence[npt.NDArray[np.bool_]],
    transcripts: Sequence[Transcript],
    n_classes: int,
) -> tuple[phone_model.PhoneModel, int]:
    """Train a model of the states of phones, as many as the mean duration of phones allows.

    First, phones are aligned as by `fit` and divided evenly. Weights and offsets are the means of those of the state
    and those of its phone: this is closer to the times of phones than either.

    Args:
        frames, speech, transcripts, n_classes: as for `fit`.

    Returns:
        The model, whose classes are those of `state_transcript`, and the number of states.
    """
    n_phones = sum(transcript.n_phones for transcript in transcripts)
    n_speech = sum(int(of_row.sum()) for of_row in speech)
    n_states = min(MAX_STATES, max(1, int(n_speech / n_phones / _FRAMES_PER_STATE)))
    products = phone_model.outer_products(frames)
    phones = np.concatenate([[SILENCE], np.repeat(np.arange(1, n_classes), n_states)])

    def of_phones(classes: Sequence[phone_model.Integers], rows: phone_model.Integers) -> phone_model.PhoneModel:
        return phone_model.estimate(
            *phone_model.class_sums(frames, classes, rows, n_classes), products[rows].sum(axis=0)
        )

    def of_states(classes: Sequence[phone_model.Integers], rows: phone_model.Integers) -> phone_model.PhoneModel:
        product = products[rows].sum(axis=0)
        sums, counts = phone_model.class_sums(frames, classes, rows, len(phones))
        phone_sums, phone_counts = np.zeros((n_classes, sums.shape[1])), np.zeros(n_classes)
        np.add.at(phone_sums, phones, sums)
        np.add.at(phone_counts, phones, counts)
        states, whole = (
            phone_model.estimate(sums, counts, product),
            phone_model.estimate(phone_sums, phone_counts, product),
        )
        weights, offsets = states.weights + whole.weights[:, phones], states.offsets + whole.offsets[phones]
        return phone_model.PhoneModel(weights / np.float32(2), offsets / np.float32(2))

    model, places = phone_model.alternate(
        frames, transcripts, phone_model.initial_classes(speech, transcripts), of_phones
    )
    if n_states == 1:
        return model, 1
    divided = [_divide(*pair, n_states) for pair in zip(transcripts, places, strict=True)]
    expanded = [
        state_transcript(transcript, n_states, len(of_row))[0]
        for transcript, of_row in zip(transcripts, frames, strict=True)
    ]
    return phone_model.alternate(frames, expanded, divided, of_states)[0], n_states


def _state_class(phones: phone_model.Integers, numbers: phone_model.Integers, n_states: int) -> phone_model.Integers:
    return 1 + (phones - 1) * n_states + numbers


def _used_states(transcript: Transcript, n_states: int, n_frames: int) -> phone_model.Integers:
    """Return the numbers of the states for which the recording has frames; a single one is that in the middle."""
    n = max(1, min(n_states, n_frames // max(transcript.n_phones, 1)))
    return np.array([n_states // 2]) if n == 1 else np.round(np.linspace(0, n_states - 1, n)).astype(np.int64)


def _divide(transcript: Transcript, places: phone_model.Integers, n_states: int) -> phone_model.Integers:
    """Return the classes of the frames of a recording, with an equal share of the frames of a phone for each state.

    Args:
        places: [n_frames], the place in the transcript of each frame, from 0 or 1 on, which never decreases.
    """
    used = _used_states(transcript, n_states, len(places))
    first, sizes = np.unique(places, return_index=True, return_counts=True)[1:]
    within = np.arange(len(places)) - np.repeat(first, sizes)
    states = used[within * len(used) // np.repeat(sizes, sizes)]
    return np.where(transcript.optional[places], SILENCE, _state_class(transcript.classes[places], states, n_states))


_DIGITS: Final = "0123456789"
_CLOSURE_SECONDS: Final = 0.1
"""The maximum duration of a silence before a stop that is its closure; people's labels have few longer ones."""

_STOP: Final = re.compile("[pbtdkgqcɡɢɟʈɖʔɓɗɠʄʛʡʣ-ʨ](?!h)|ch|jh")
"""The beginning of a stop or affricate in IPA, ARPAbet and X-SAMPA; ``th`` and ``dh`` are fricatives of ARPAbet."""
_MAX_TEXT: Final = 1 << 20

Durations = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """The symbols of a store, of which phones are aligned.

    Attributes:
        symbols: the symbol for each id.
        pad_id: the id of padding.
    """

    symbols: tuple[str, ...]
    pad_id: int

    @cached_property
    def kinds(self) -> npt.NDArray[np.int64]:
        """The kind of each symbol, [n_symbols]; see `tts_prep.acoustics.phones.symbols`."""
        return symbol_kinds(self.symbols, self.pad_id)

    @cached_property
    def stops(self) -> npt.NDArray[np.bool_]:
        """Whether each symbol is a phone that begins with a closure, [n_symbols]."""
        names = [
            phone_name(symbol) if kind == PHONE else "" for symbol, kind in zip(self.symbols, self.kinds, strict=True)
        ]
        known = {*names}
        # With both cases, T and D are X-SAMPA's fricatives, but not beside vowels of ARPAbet, whose T and D are stops.
        has_cases = any(name.lower() in known for name in names if name != name.lower())
        is_arpabet = not known.isdisjoint(("AA", "AE", "IY", "UW"))
        has_cases = has_cases and not is_arpabet
        read = [name.removeprefix("@").lower() if name[:1] == "@" or not has_cases else name for name in names]
        return np.array([_STOP.match(name) is not None for name in read])

    def check(self, phonemes: npt.NDArray[np.int32]) -> None:
        """Check that the vocabulary has all ids, because compiled functions read whatever lies at others.

        Raises:
            FeatureError: it has not.
        """
        unknown = phonemes[(phonemes < 0) | (phonemes >= len(self.symbols))]
        if len(unknown):
            raise FeatureError(f"durations: a phoneme has the id {unknown[0]:,}, of {len(self.symbols):,} symbols")


def phone_name(symbol: str) -> str:
    """Return a phone without stress or tone: ``AH0`` and ``AH1`` sound alike, and so do ``ni3`` and ``'ni2``."""
    name = symbol.lstrip(STRESS) or symbol
    return name.rstrip(_DIGITS) or name


@dataclass(frozen=True, eq=False)
class Recording:
    """What the aligner knows of an utterance.

    Attributes:
        phonemes: [n_phonemes] int32, ids of the vocabulary.
        mel: [n_frames, n_mels], at least one frame.
    """

    phonemes: npt.NDArray[np.int32]
    mel: npt.NDArray[Any]


class Alignment(NamedTuple):
    """The alignment of an utterance.

    Attributes:
        durations: [n_phonemes], the frames of each phoneme, whose sum is the number of frames.
        score: the mean log-likelihood of the frames of phones, relative to that of the best class of each frame: 0 if
            every frame sounds most like its own phone. NaN if all frames were divided evenly.
        within: the estimated share of boundaries within 20 ms of the true ones; 0 if all were divided evenly.
        evidence: the arguments of `estimated_share`.
        silences: the frames of the first and the last phoneme that are silence before or after all phones.
    """

    durations: Durations
    score: float
    within: float
    evidence: tuple[float, float, float]
    silences: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class AlignmentModel:
    """Normal distributions for the states of each phone, and one for silence; see `tts_prep.aligner.model`.

    Attributes:
        vocabulary: the symbols of the store.
        decibels: decibels per unit of the mels.
        hop_seconds: seconds per frame of the mels.
        phones: the names of the phones with a class of their own; all others share the last class.
        n_states: the number of states of each phone.
        weights, offsets: of the `PhoneModel`, little-endian float32 numbers as bytes.
    """

    vocabulary: Vocabulary
    decibels: float
    hop_seconds: float
    phones: tuple[str, ...]
    n_states: int
    weights: bytes
    offsets: bytes

    @classmethod
    def train(
        cls, recordings: Sequence[Recording], vocabulary: Vocabulary, decibels: float, hop_seconds: float
    ) -> AlignmentModel:
        """Train a model on recordings. The result depends on their order only by rounding.

        Raises:
            FeatureError: no recording has phones, or one has a phoneme that the vocabulary has not.
        """
        for recording in recordings:
            vocabulary.check(recording.phonemes)
        phones = _frequent_phones(recordings, vocabulary)
        classes = _classes(vocabulary, phones)
        usable = []
        for recording in recordings:
            transcript = classes.transcript(recording.phonemes)
            found = _features(recording.mel, decibels, hop_seconds)
            if 0 < transcript.n_phones <= len(found[0]):
                usable.append((*found, transcript))
        if not usable:
            raise FeatureError(
                "durations: no utterance has phones, and as many frames, so that nothing can be learned; check the "
                "symbols of the store, or pass --alignments"
            )
        frames, speech, transcripts = zip(*usable, strict=True)
        model, n_states = fit_states(frames, speech, transcripts, classes.n_classes)
        return cls(vocabulary, decibels, hop_seconds, phones, n_states, _bytes(model.weights), _bytes(model.offsets))

    @property
    def n_features(self) -> int:
        """The number of features of a frame."""
        return len(self.weights) // len(self.offsets)

    @cached_property
    def _classes(self) -> PhoneClasses:
        return _classes(self.vocabulary, self.phones)

    @cached_property
    def _model(self) -> phone_model.PhoneModel:
        offsets = np.frombuffer(self.offsets, "<f4")
        return phone_model.PhoneModel(np.frombuffer(self.weights, "<f4").reshape(-1, len(offsets)), offsets)

    def align(self, recording: Recording) -> Alignment:
        """Return the alignment of an utterance.

        A phone has at least one frame. A space or a punctuation mark has the frames of the pause at this place, the
        first of several marks all of them; but a silence of up to 0.1 s before a stop is its closure, and belongs to
        it. Silence at an end without such a symbol belongs to the first or the last one. All other symbols, such as
        stress marks, have none. If there are fewer frames than phones, or no phones, or values that are not finite, all
        frames are divided evenly.

        Raises:
            FeatureError: a phoneme is not in the vocabulary.
        """
        self.vocabulary.check(recording.phonemes)
        transcript, symbols = self._classes.located(recording.phonemes)
        n_frames, found = len(recording.mel), _features(recording.mel, self.decibels, self.hop_seconds)[0]
        if not 0 < transcript.n_phones <= len(found):
            return Alignment(_equal_shares(n_frames, len(recording.phonemes)), math.nan, 0.0, (0.0, 0.0, 0.0))
        scores, deviations = self._model.scores(found)
        states, places_of_states = state_transcript(transcript, self.n_states, n_frames)
        of_states = frame_places(scores, states)
        places = places_of_states[of_states]
        classes = transcript.classes[places]
        spoken = classes != SILENCE
        # The closure of a stop is silent, and no pause.
        n_each = np.bincount(places, minlength=len(symbols))
        short = np.flatnonzero(transcript.optional[1:-1] & (n_each[1:-1] * self.hop_seconds <= _CLOSURE_SECONDS)) + 1
        short = short[self.vocabulary.stops[recording.phonemes[symbols[short + 1]]]]
        symbols[short] = symbols[short + 1]
        of_frames = symbols[places]
        # Only the silences at both ends can have no symbol.
        last = len(recording.phonemes) - 1
        at = np.flatnonzero(of_frames < 0)
        n_before = int((at < np.argmax(spoken)).sum())
        of_frames[at[:n_before]], of_frames[at[n_before:]] = 0, last
        durations = np.bincount(of_frames, minlength=last + 1)
        score = phone_scores(scores[spoken], classes[spoken], self.n_states).mean(dtype=np.float64)
        starts = np.searchsorted(places_of_states, np.flatnonzero(~transcript.optional))
        mass = start_mass(scores, states, of_states, starts, self.hop_seconds)
        known = mass, float(deviations[spoken].mean(dtype=np.float64)), float(score)
        silences = n_before, len(at) - n_before
        return Alignment(durations, float(score), estimated_share(*known), known, silences)

    def as_text(self) -> str:
        """Return the model as text, the same for equal models."""
        numbers = {name: base64.b64encode(getattr(self, name)).decode() for name in ("weights", "offsets")}
        vocabulary = {"symbols": self.vocabulary.symbols, "pad": self.vocabulary.pad_id}
        mels = {"decibels": self.decibels, "hop_seconds": self.hop_seconds}
        record = {**vocabulary, **mels, "phones": self.phones, "states": self.n_states, **numbers}
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> AlignmentModel:
        """Parse the result of `as_text`.

        Raises:
            ConfigurationError: it is not a model.
        """
        try:
            if len(text) > _MAX_TEXT:
                raise ValueError(f"{len(text):,} characters, expected {_MAX_TEXT:,} at most")
            record = json.loads(text)
            weights, offsets = (base64.b64decode(record[name], validate=True) for name in ("weights", "offsets"))
            phones, decibels = tuple(map(str, record["phones"])), float(record["decibels"])
            hop_seconds = float(record["hop_seconds"])
            vocabulary = Vocabulary(tuple(map(str, record["symbols"])), int(record["pad"]))
            n_states = int(record["states"])
            if not 0 < n_states <= MAX_STATES:
                raise ValueError(f"{n_states} states")
            n_classes = n_state_classes(len(phones) + 2, n_states)
            if len(offsets) != 4 * n_classes or len(weights) % len(offsets):
                raise ValueError("numbers are missing")
            if not (0 < decibels < math.inf and 0 < hop_seconds < math.inf):
                raise ValueError(f"{decibels} dB per unit, {hop_seconds} s per frame")
            if not 0 <= vocabulary.pad_id < len(vocabulary.symbols):
                raise ValueError("its symbols have no padding")
            if not all(np.isfinite(np.frombuffer(numbers, "<f4")).all() for numbers in (weights, offsets)):
                raise ValueError("a number is not finite")
            return cls(vocabulary, decibels, hop_seconds, phones, n_states, weights, offsets)
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            raise ConfigurationError(f"durations: the model of the aligner is damaged ({error})") from error


def _frequent_phones(recordings: Sequence[Recording], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the names of the most frequent phones, sorted."""
    ids = np.concatenate([recording.phonemes for recording in recordings] or [np.empty(0, np.int32)])
    counts: dict[str, int] = {}
    for number, count in enumerate(np.bincount(ids, minlength=len(vocabulary.symbols)).tolist()):
        if count and vocabulary.kinds[number] == PHONE:
            name = phone_name(vocabulary.symbols[number])
            counts[name] = counts.get(name, 0) + count
    return tuple(sorted(sorted(counts, key=lambda name: (-counts[name], name))[: MAX_CLASSES - 2]))


def _classes(vocabulary: Vocabulary, phones: Sequence[str]) -> PhoneClasses:
    numbers = {name: 1 + number for number, name in enumerate(phones)}
    rare = len(phones) + 1
    of_symbols = [numbers.get(phone_name(symbol), rare) for symbol in vocabulary.symbols]
    classes = np.where(vocabulary.kinds == PHONE, np.array(of_symbols, np.int64), SILENCE)
    return PhoneClasses(vocabulary.kinds, classes, rare + 1)


def _features(
    mel: npt.NDArray[Any], decibels: float, hop_seconds: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    mels = with_contrast(Mels.of([mel], mel.shape[1]), decibels, hop_seconds)
    found = phone_model.features(mels, decibels, 1, scaled=True)
    return found.frames, found.speech


def _equal_shares(n_frames: int, n_phonemes: int) -> Durations:
    shares: Durations = np.diff(np.arange(n_phonemes + 1) * n_frames // max(n_phonemes, 1))
    return shares


def _bytes(numbers: npt.NDArray[np.float32]) -> bytes:
    return numbers.astype("<f4").tobytes()
