"""Batched alignment of transcripts with recordings by dynamic programming (Viterbi, 1967)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SILENCE = 0
"""The class of frames without speech."""

LEAST_GAIN = 3.0
"""The minimum gain in log-likelihood; a factor of 20 in likelihood."""

_NEVER = np.float32(-1e9)

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Transcript:
    """A transcript as a sequence of frame classes.

    Attributes:
        classes: [n] int64; phones, and SILENCE at possible pauses.
        optional: [n] booleans; whether a class may have no frames. Adjacent classes are not both optional.
    """

    classes: npt.NDArray[np.int64]
    optional: npt.NDArray[np.bool_]

    @property
    def n_phones(self) -> int:
        """The number of classes that are not optional."""
        return int((~self.optional).sum())


@dataclass(frozen=True, eq=False)
class Alignments:
    """The best alignments of a batch.

    Attributes:
        totals: [b] sums of the scores of all frames; −∞ if there are more phones than frames.
        left_out: [b] numbers of phones at the end of the transcript whose omission increases the sum by LEAST_GAIN.
    """

    totals: npt.NDArray[np.float64]
    left_out: npt.NDArray[np.int64]


def padded(rows: Sequence[npt.NDArray[np.generic]], fill: object) -> npt.NDArray[np.generic]:
    """Pad arrays [n, …] of different lengths to one array [len(rows), max n, …]."""
    first = rows[0]
    values = np.full((len(rows), max(len(row) for row in rows), *first.shape[1:]), fill, first.dtype)
    for place, row in zip(values, rows, strict=True):
        place[: len(row)] = row
    return values


class _Lattice:
    """The state of dynamic programming for a batch: the best scores of paths that end at each class.

    Args:
        scores: one array [n_frames, n_classes] per recording, the score of each class for each frame.
        transcripts: one per recording.
    """

    def __init__(self, scores: Sequence[Scores], transcripts: Sequence[Transcript]) -> None:
        self.lengths = np.array([len(frames) for frames in scores])
        self.scores = padded(scores, 0).astype(np.float32, copy=False)
        self.classes = padded([transcript.classes for transcript in transcripts], SILENCE).astype(np.int64, copy=False)
        optional = padded([transcript.optional for transcript in transcripts], False).astype(np.bool_, copy=False)
        self.last = np.array([len(transcript.classes) - 1 for transcript in transcripts])
        n_rows, n = self.classes.shape
        # Two columns of padding before the first class.
        self.best = np.full((n_rows, n + 2), _NEVER, np.float32)
        self.best[:, 2] = 0
        self.best[:, 3:4] = np.where(optional[:, :1], np.float32(0), _NEVER)[:, : n - 1]
        self.skip = np.full((n_rows, n), _NEVER, np.float32)
        self.skip[:, 2:][optional[:, 1:-1]] = 0

    def emission(self, frame: int) -> Scores:
        """Return the scores of a frame for the classes of the transcripts, [b, n]."""
        scores: Scores = np.take_along_axis(self.scores[:, frame], self.classes, axis=1)
        return scores

    def advance(self, frame: int) -> npt.NDArray[np.uint8]:
        """Process a frame; return the number of classes that each best path advances, 0 to 2, [b, n]."""
        if not frame:
            self.best[:, 2:] += self.emission(frame)
            return np.zeros(self.classes.shape, np.uint8)
        stay, one, two = self.best[:, 2:], self.best[:, 1:-1], self.best[:, :-2] + self.skip
        better = np.maximum(stay, one)
        steps = (one > stay).astype(np.uint8)
        steps[two > better] = 2
        self.best[:, 2:] = np.maximum(better, two) + self.emission(frame)
        return steps

    def ends(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Scores]:
        """Return the last class and the score of the best complete path of transcripts; [len(rows)] each."""
        last = self.last[rows]
        # The last class is an optional silence.
        behind, at = self.best[rows, last + 2], self.best[rows, last + 1]
        return np.where(at > behind, last - 1, last), np.maximum(behind, at)


def align(scores: Sequence[Scores], transcripts: Sequence[Transcript]) -> Alignments:
    """Align transcripts with recordings.

    Args:
        scores: one array [n_frames, n_classes] per recording, with at least one frame.
        transcripts: one per recording; each ends with an optional class.
    """
    lattice = _Lattice(scores, transcripts)
    n = len(scores)
    totals, left_out = np.zeros(n), np.zeros(n, np.int64)
    for frame in range(lattice.scores.shape[1]):
        lattice.advance(frame)
        rows = np.flatnonzero(lattice.lengths == frame + 1)
        if len(rows):
            totals[rows] = lattice.ends(rows)[1]
            at = lattice.best[rows, 2:].argmax(axis=1)
            better = lattice.best[rows, at + 2] > totals[rows] + LEAST_GAIN
            for row, end in zip(rows[better].tolist(), at[better].tolist(), strict=True):
                left_out[row] = int((~transcripts[row].optional[end + 1 :]).sum())
    totals[totals < _NEVER / 2] = -np.inf
    return Alignments(totals, left_out)


def frame_classes(scores: Sequence[Scores], transcripts: Sequence[Transcript]) -> list[npt.NDArray[np.int64]]:
    """Return the class of each frame in the best alignments, one array [n_frames] per recording."""
    lattice = _Lattice(scores, transcripts)
    steps, ends = [], np.zeros(len(scores), np.int64)
    for frame in range(lattice.scores.shape[1]):
        steps.append(lattice.advance(frame))
        rows = np.flatnonzero(lattice.lengths == frame + 1)
        if len(rows):
            ends[rows] = lattice.ends(rows)[0]
    every = np.arange(len(scores))
    places = np.zeros((len(scores), len(steps)), np.int64)
    for frame in range(len(steps) - 1, -1, -1):
        places[:, frame] = ends
        # Shorter recordings are skipped until their last frame.
        ends = np.where(frame < lattice.lengths, ends - steps[frame][every, ends], ends)
    classes = np.take_along_axis(lattice.classes, places, axis=1)
    return [row[:n] for row, n in zip(classes, lattice.lengths.tolist(), strict=True)]
