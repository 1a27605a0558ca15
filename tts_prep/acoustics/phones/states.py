"""Phones as sequences of states, because the beginning, middle and end of a phone sound differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.model import (
    Floats,
    Integers,
    PhoneModel,
    alternate,
    class_sums,
    estimate,
    initial_classes,
    outer_products,
)
from tts_prep.acoustics.phones.viterbi import SILENCE, Transcript

MAX_STATES: Final = 3
"""The maximum number of states of a phone."""

_FRAMES_PER_STATE: Final = 1.7
"""The minimum mean number of frames of speech per state; with fewer, short phones would get frames of others."""


def n_state_classes(n_classes: int, n_states: int) -> int:
    """Return the number of classes of the states of phones, and silence."""
    return 1 + (n_classes - 1) * n_states


def state_transcript(transcript: Transcript, n_states: int, n_frames: int) -> tuple[Transcript, Integers]:
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


def phone_scores(scores: Floats, classes: Integers, n_states: int) -> Floats:
    """Return the score of the best state of the phone of each frame, [n_frames].

    Args:
        scores: [n_frames, n_state_classes].
        classes: [n_frames], the class of the phone of each frame, which is not silence.
    """
    best: Floats = scores[
        np.arange(len(scores))[:, None], _state_class(classes[:, None], np.arange(n_states), n_states)
    ].max(axis=1)
    return best


def fit_states(
    frames: Sequence[Floats], speech: Sequence[npt.NDArray[np.bool_]], transcripts: Sequence[Transcript], n_classes: int
) -> tuple[PhoneModel, int]:
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
    products = outer_products(frames)
    phones = np.concatenate([[SILENCE], np.repeat(np.arange(1, n_classes), n_states)])

    def of_phones(classes: Sequence[Integers], rows: Integers) -> PhoneModel:
        return estimate(*class_sums(frames, classes, rows, n_classes), products[rows].sum(axis=0))

    def of_states(classes: Sequence[Integers], rows: Integers) -> PhoneModel:
        product = products[rows].sum(axis=0)
        sums, counts = class_sums(frames, classes, rows, len(phones))
        phone_sums, phone_counts = np.zeros((n_classes, sums.shape[1])), np.zeros(n_classes)
        np.add.at(phone_sums, phones, sums)
        np.add.at(phone_counts, phones, counts)
        states, whole = estimate(sums, counts, product), estimate(phone_sums, phone_counts, product)
        weights, offsets = states.weights + whole.weights[:, phones], states.offsets + whole.offsets[phones]
        return PhoneModel(weights / np.float32(2), offsets / np.float32(2))

    model, places = alternate(frames, transcripts, initial_classes(speech, transcripts), of_phones)
    if n_states == 1:
        return model, 1
    divided = [_divide(*pair, n_states) for pair in zip(transcripts, places, strict=True)]
    expanded = [
        state_transcript(transcript, n_states, len(of_row))[0]
        for transcript, of_row in zip(transcripts, frames, strict=True)
    ]
    return alternate(frames, expanded, divided, of_states)[0], n_states


def _state_class(phones: Integers, numbers: Integers, n_states: int) -> Integers:
    return 1 + (phones - 1) * n_states + numbers


def _used_states(transcript: Transcript, n_states: int, n_frames: int) -> Integers:
    """Return the numbers of the states for which the recording has frames; a single one is that in the middle."""
    n = max(1, min(n_states, n_frames // max(transcript.n_phones, 1)))
    return np.array([n_states // 2]) if n == 1 else np.round(np.linspace(0, n_states - 1, n)).astype(np.int64)


def _divide(transcript: Transcript, places: Integers, n_states: int) -> Integers:
    """Return the classes of the frames of a recording, with an equal share of the frames of a phone for each state.

    Args:
        places: [n_frames], the place in the transcript of each frame, from 0 or 1 on, which never decreases.
    """
    used = _used_states(transcript, n_states, len(places))
    first, sizes = np.unique(places, return_index=True, return_counts=True)[1:]
    within = np.arange(len(places)) - np.repeat(first, sizes)
    states = used[within * len(used) // np.repeat(sizes, sizes)]
    return np.where(transcript.optional[places], SILENCE, _state_class(transcript.classes[places], states, n_states))
