"""Utterances that are in a store twice: equal samples, nearly equal mels, equal texts."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

N_BANDS, N_CELLS = 8, 32
"""The fingerprint of a mel: bands of neighbouring bins, and cells of equal length in time."""

LENGTH_TOLERANCE = 0.03
"""Recordings whose lengths differ by more than this share are not compared."""

_BLOCK = 512
"""Fingerprints that are compared with others at a time."""


def array_digest(values: npt.NDArray[np.generic]) -> bytes:
    """Return a checksum of the values of an array, 16 bytes of BLAKE2b."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


def text_digest(text: str, speaker: str) -> bytes:
    """Return a checksum of what is said: the letters and digits of a text, in lower case, and who says them."""
    letters = "".join(character for character in text.casefold() if unicodedata.category(character)[0] in "LMN")
    return hashlib.blake2b(f"{speaker}\0{letters or text}".encode(errors="surrogatepass"), digest_size=16).digest()


def first_equal(digests: Iterable[bytes]) -> npt.NDArray[np.int64]:
    """Return for each checksum the position of the first equal one before it, -1 where there is none; [n]."""
    first: dict[bytes, int] = {}
    found = [first.setdefault(digest, position) for position, digest in enumerate(digests)]
    positions = np.array(found, np.int64)
    return np.where(positions == np.arange(len(positions)), -1, positions)


def fingerprint(mel: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the shape of a mel as a vector of length 1, [N_BANDS * N_CELLS]; zeros where the mel has no shape.

    Values are averaged over bands and cells, and the mean of each band is subtracted: a gain or an equalizer changes
    little. The dot product of two fingerprints is their correlation.
    """
    n_frames, n_mels = mel.shape
    if not n_frames:
        return np.zeros(N_BANDS * N_CELLS, np.float32)
    cells = _means(mel, N_CELLS)
    grid = _means(np.ascontiguousarray(cells.T), min(N_BANDS, n_mels))
    grid = grid - grid.mean(axis=1, keepdims=True)
    norm = np.float32(np.linalg.norm(grid))
    vector = np.zeros(N_BANDS * N_CELLS, np.float32)
    if norm > 1e-3:
        vector[: grid.size] = (grid / norm).reshape(-1)
    return vector


def _means(rows: npt.NDArray[np.float32], n: int) -> npt.NDArray[np.float32]:
    """Return the means of n stretches of rows, [n, …]; of fewer rows, some are repeated."""
    edges = np.linspace(0, len(rows), n + 1).astype(np.int64)
    starts = np.minimum(edges[:-1], len(rows) - 1)
    lengths = np.maximum(np.diff(edges), 1)
    # Where a stretch is empty, reduceat gives the row at its start: the repetition that is wanted.
    sums = np.add.reduceat(rows, starts, axis=0, dtype=np.float32)
    means: npt.NDArray[np.float32] = np.divide(sums, lengths[:, None], dtype=np.float32)
    return means


def most_similar_before(
    fingerprints: npt.NDArray[np.float32], lengths: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return for each utterance the highest correlation with an earlier one of about its length, and which one it is.

    Memory is bounded: a block of utterances is compared with a block of others at a time.

    Args:
        fingerprints: [n, N_BANDS * N_CELLS] as `fingerprint` gives them.
        lengths: [n] seconds.

    Returns:
        The correlations, [n], NaN where no earlier utterance has about this length, and the positions, [n], -1 there.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    best = np.full(len(order), -np.inf, np.float32)
    partner = np.full(len(order), -1, np.int64)
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        # Each pair is met once, where the longer one is a row; which of the two comes first is decided below.
        shortest = int(np.searchsorted(ordered, ordered[start] * (1 - LENGTH_TOLERANCE)))
        for other in range(shortest, start + len(rows), _BLOCK):
            columns = order[other : min(other + _BLOCK, start + len(rows))]
            similarity = fingerprints[rows] @ fingerprints[columns].T
            one, two = lengths[rows][:, None], lengths[columns][None, :]
            close = np.minimum(one, two) >= np.maximum(one, two) * (1 - LENGTH_TOLERANCE)
            similarity = np.where(close, similarity, np.float32(-np.inf))
            _keep_best(best, partner, rows, columns, similarity)
            _keep_best(best, partner, columns, rows, similarity.T)
    return np.where(partner >= 0, best, np.nan).astype(np.float64), partner


def _keep_best(
    best: npt.NDArray[np.float32],
    partner: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float32],
) -> None:
    """Take over the best partner of each row among the columns that come before it in the store."""
    earlier = np.where(columns[None, :] < rows[:, None], similarity, np.float32(-np.inf))
    at = earlier.argmax(axis=1)
    found = earlier[np.arange(len(rows)), at]
    better = found > best[rows]
    best[rows[better]] = found[better]
    partner[rows[better]] = columns[at[better]]
