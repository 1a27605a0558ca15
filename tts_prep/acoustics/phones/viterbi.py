"""Alignment of transcripts with recordings by dynamic programming (Viterbi, 1967)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import Compiled

SILENCE = 0
"""The class of frames without speech."""

LEAST_GAIN = 3.0
"""The minimum gain in log-likelihood; a factor of 20 in likelihood."""

_NEVER = -1e9
_GAP = 2
"""The number of unused places between two transcripts, as many as a path can advance from frame to frame."""

_BAND = 32
"""The number of classes on both sides of the best path that other paths may pass through."""

_MAX_STEPS = 1 << 24
"""The maximum number of steps that are kept, in bytes; for longer recordings, most are computed twice."""

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Transcript:
    """A transcript as a sequence of frame classes.

    Attributes:
        classes: [n] int64; phones, and SILENCE at possible pauses.
        optional: [n] booleans; whether a class may have no frames. Adjacent classes are not both optional, and the last
            one is.
    """

    classes: npt.NDArray[np.int64]
    optional: npt.NDArray[np.bool_]

    @cached_property
    def n_phones(self) -> int:
        """The number of classes that are not optional."""
        return int((~self.optional).sum())

    @cached_property
    def states(self) -> tuple[npt.NDArray[np.uint32], Scores]:
        """The classes, and the score of reaching each from the one before the previous one, [n + _GAP] each.

        The last _GAP places are unused.
        """
        n = len(self.classes)
        classes, skips = np.zeros(n + _GAP, np.uint32), np.full(n + _GAP, _NEVER, np.float32)
        classes[:n] = self.classes
        skips[1 : n + 1][self.optional] = 0
        return classes, skips


@dataclass(frozen=True, eq=False)
class Alignments:
    """The best alignments of transcripts with recordings.

    Attributes:
        totals: [n, n_transcripts] sums of the scores of all frames; −∞ if there are more phones than frames.
        unspoken: [n, n_transcripts] numbers of phones at the end of the transcript whose omission increases the sum by
            LEAST_GAIN.
    """

    totals: npt.NDArray[np.float64]
    unspoken: npt.NDArray[np.int64]


def align(scores: Scores, spans: npt.NDArray[np.int64], transcripts: Sequence[Sequence[Transcript]]) -> Alignments:
    """Align transcripts with recordings, as many with each.

    Args:
        scores: [n_frames, n_classes], the score of each class for each frame of all recordings.
        spans: [n, 2], the first frame of each recording, and the one after its last; at least one recording, with at
            least one frame.
        transcripts: [n, n_transcripts], at least one for each recording.
    """
    states = [transcript.states for of_recording in transcripts for transcript in of_recording]
    classes, skips = (np.concatenate(values) for values in zip(*states, strict=True))
    starts = np.cumsum([0, *(len(classes_of) for classes_of, _ in states)])
    best = np.empty(len(classes), np.float32)
    _find_best_paths(scores, spans, classes, skips, starts, best)
    totals, unspoken = np.empty(len(states)), np.empty(len(states), np.int64)
    _read_ends(best, skips, starts, totals, unspoken)
    totals[totals < _NEVER / 2] = -np.inf
    return Alignments(totals.reshape(len(spans), -1), unspoken.reshape(len(spans), -1))


@partial(Compiled, keeps_gil=True)
def _read_ends(best: Any, skips: Any, starts: Any, totals: Any, unspoken: Any) -> None:
    """Fill `Alignments.totals` and `Alignments.unspoken`, [n] each, from the result of `_find_best_paths`.

    Args:
        starts: [n_transcripts + 1] int64, the first place of each transcript, and the number of places.
    """
    for number in range(len(totals)):
        start, stop = starts[number], starts[number + 1] - _GAP
        total = max(best[stop - 1], best[stop - 2])
        furthest = start + best[start:stop].argmax()
        totals[number], unspoken[number] = total, 0
        if best[furthest] > total + LEAST_GAIN:
            for place in range(furthest + 1, stop):
                # A class is optional if the one after the next can be reached without it.
                unspoken[number] += skips[place + 1] != 0


def frame_places(scores: Scores, transcript: Transcript) -> npt.NDArray[np.int64]:
    """Return the place in the transcript of each frame in its best alignment, [n_frames].

    Args:
        scores: [n_frames, n_classes], with at least as many frames as phones.
    """
    places = np.empty(len(scores), np.int64)
    classes, skips = (values[:-_GAP] for values in transcript.states)
    is_short = len(scores) * len(classes) <= _MAX_STEPS
    _trace_best_path(scores, classes, skips, len(scores) if is_short else math.isqrt(len(scores)), places)
    return places


def start_masses(
    scores: Scores, transcript: Transcript, places: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], window: int
) -> Scores:
    """Return the probability that each of some classes begins near the first frame that the best path gives it, [n].

    It is that of all paths near the best one, by the forward-backward algorithm (Rabiner, 1989).

    Args:
        scores: [n_frames, n_classes], log-likelihoods; less than one per frame, because frames depend on one another.
        places: [n_frames], from `frame_places`.
        starts: [n], ascending places in the transcript of classes that are not optional.
        window: the number of frames before and after that are near.
    """
    classes, skips = transcript.states
    number = np.full(len(transcript.classes), -1)
    number[starts] = np.arange(len(starts))
    firsts, can_skip = np.searchsorted(places, starts), (skips == 0).astype(np.float32)
    masses = np.zeros(len(starts), np.float32)
    _sum_starts(np.exp(scores), classes, can_skip, places, firsts, number, window, masses)
    return masses


@partial(Compiled, any_order=True)
def _sum_starts(
    likelihoods: Any, classes: Any, can_skip: Any, places: Any, firsts: Any, number: Any, window: int, masses: Any
) -> None:
    """Fill in the result of `start_masses`.

    Rows have the classes near the best path, with _GAP unused values at both ends.

    Args:
        likelihoods: [n_frames, n_classes] float32.
        classes, can_skip: [n + _GAP], and whether each can be reached from the one before the previous one, 1 or 0.
        firsts: the first frame of each start in the best path.
        number: [n], which start each class is, or -1.
    """
    n, n_frames, width = len(number), len(places), 2 * _BAND + 1
    rows = np.zeros((n_frames + 1, width + 2 * _GAP), np.float32)
    # As if a frame before the first one had the place before the first class.
    rows[0, _GAP + _BAND - places[0] - 1] = 1
    after, later = np.zeros(width + 2 * _GAP, np.float32), np.zeros(width + 2 * _GAP, np.float32)
    sums = np.empty(n_frames, np.float32)
    for frame in range(n_frames):
        low, row, of_frame, total = places[frame] - _BAND, rows[frame + 1], likelihoods[frame], np.float32(0)
        last, shift = rows[frame], _GAP + (places[frame] - places[frame - 1] if frame else 0)
        for j in range(max(0, -low), min(width, n - low)):
            i, k = low + j, j + shift
            value = (last[k] + last[k - 1] + can_skip[i] * last[k - 2]) * of_frame[classes[i]]
            row[j + _GAP] = value
            total += value
        sums[frame] = max(total, np.float32(1e-30))
        row /= sums[frame]
    low = places[-1] - _BAND
    for i in range(max(n - 2, low), n):
        after[i - low + _GAP] = 1
    for frame in range(n_frames - 1, -1, -1):
        low = places[frame] - _BAND
        row, last, of_frame, total = rows[frame + 1], rows[frame], likelihoods[frame], np.float32(1e-30)
        shift = _GAP + (places[frame] - places[frame - 1] if frame else 0)
        later[:] = 0
        for j in range(max(0, -low), min(width, n - low)):
            later[j + _GAP] = after[j + _GAP] * of_frame[classes[low + j]]
            total += after[j + _GAP] * row[j + _GAP]
        for i in range(places[max(frame - window, 0)], places[min(frame + window, n_frames - 1)] + 1):
            if number[i] >= 0 and abs(firsts[number[i]] - frame) <= window and abs(i - places[frame]) <= _BAND:
                k = i - low + shift
                value = (last[k - 1] + can_skip[i] * last[k - 2]) * later[i - low + _GAP]
                masses[number[i]] += value / (sums[frame] * total)
        if frame:
            step = places[frame] - places[frame - 1]
            low, total, after[:] = places[frame - 1] - _BAND, np.float32(1e-30), 0
            for j in range(max(0, -low), min(width, n - low)):
                k = j - step + _GAP
                value = later[k] + later[k + 1] + can_skip[low + j + 2] * later[k + 2]
                after[j + _GAP] = value
                total += value
            after /= total


@Compiled
def _trace_best_path(scores: Any, classes: Any, skips: Any, block: int, places: Any) -> None:
    """Fill in the place in ``classes`` of each frame in the best path that ends at one of the last two.

    The steps of a path are kept for one block of frames at a time. For the blocks before the last one, they are
    computed again, from the scores of the paths at the start of the block, which are all kept.

    Args:
        scores: [n_frames, n_classes] float32.
        classes, skips: [n], from `Transcript.states`.
        block: the number of frames in a block.
        places: [n_frames] int64, filled.
    """
    n, n_frames = len(classes), len(scores)
    n_blocks = (n_frames + block - 1) // block
    starts = np.full((n_blocks, n + _GAP), _NEVER, np.float32)
    # Two values of padding before the first class. The first frame is reached from the value before the transcript.
    starts[0, 1] = 0
    # How many classes each best path advances at each frame, 0 to 2.
    steps, of_frame = np.empty((block, n), np.uint8), np.empty(n, np.float32)
    place = -1
    # The blocks in order, and then backwards from the last one.
    for turn in range(2 * n_blocks - 1):
        number = turn if turn < n_blocks else 2 * n_blocks - 2 - turn
        before, after = starts[number].copy(), np.full(n + _GAP, _NEVER, np.float32)
        first = number * block
        size = min(block, n_frames - first)
        for frame in range(size):
            row, of_row = scores[first + frame], steps[frame]
            for i in range(n):
                of_frame[i] = row[classes[i]]
            for i in range(n):
                stay, one, two = before[i + 2], before[i + 1], before[i] + skips[i]
                best = max(stay, one)
                of_row[i] = 2 if two > best else 1 if one > stay else 0
                after[i + 2] = max(best, two) + of_frame[i]
            before, after = after, before
            before[0] = before[1] = _NEVER
        if turn < n_blocks - 1:
            for i in range(n + _GAP):
                starts[number + 1, i] = before[i]
            continue
        if place < 0:
            place = n - 1 if before[n + 1] >= before[n] else n - 2
        for frame in range(size - 1, -1, -1):
            places[first + frame] = place
            place -= int(steps[frame, place])


@Compiled
def _find_best_paths(scores: Any, spans: Any, classes: Any, skips: Any, starts: Any, best: Any) -> None:
    """Fill in the scores of the best paths that end at each class, [n_places] float32.

    The transcripts of a recording are aligned side by side, because the compiled loop over their classes is faster if
    it is long.

    Args:
        scores: [n_frames, n_classes] float32.
        spans: [n, 2] int64, the frames of each recording.
        classes: [n_places] uint32, the classes of all transcripts, with _GAP unused ones after each.
        skips: [n_places] float32, from `Transcript.states`.
        starts: [n * n_transcripts + 1] int64, the first place of each transcript, and the number of places.
    """
    per_recording = (len(starts) - 1) // len(spans)
    for recording in range(len(spans)):
        starts_here = starts[recording * per_recording : (recording + 1) * per_recording + 1]
        first, stop = starts_here[0], starts_here[per_recording]
        firsts = starts_here[:per_recording] - first
        classes_here, skips_here = classes[first:stop], skips[first:stop]
        n = len(classes_here)
        # Two values of padding before the first class; the first frame is reached from the value before a transcript.
        before, after = np.full(n + _GAP, _NEVER, np.float32), np.full(n + _GAP, _NEVER, np.float32)
        of_frame = np.empty(n, np.float32)
        for start in firsts:
            before[start + 1] = 0
        for frame in range(spans[recording, 0], spans[recording, 1]):
            row = scores[frame]
            # A loop of its own, because the next one is vectorized only without it.
            for i in range(n):
                of_frame[i] = row[classes_here[i]]
            for i in range(n):
                after[i + 2] = max(max(before[i + 2], before[i + 1]), before[i] + skips_here[i]) + of_frame[i]
            before, after = after, before
            for start in firsts:
                before[start] = before[start + 1] = _NEVER
        for i in range(n):
            best[first + i] = before[i + 2]
