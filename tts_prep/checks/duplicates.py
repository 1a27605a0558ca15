"""Detection of duplicates: equal samples, similar mels, equal texts."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import Compiled

N_BANDS, N_CELLS = 8, 32
"""The size of a fingerprint: bands of adjacent mel bins, and cells of equal duration."""

LENGTH_TOLERANCE = 0.03
"""The maximum relative difference of the durations of compared recordings."""

_BLOCK = 512
"""The number of fingerprints in a block of comparisons."""


def array_digest(values: npt.NDArray[np.generic]) -> bytes:
    """Return a 16-byte BLAKE2b checksum of an array."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


class _Letters(dict[int, "int | None"]):
    """A table for `str.translate` that keeps letters and digits only."""

    def __missing__(self, code: int) -> int | None:
        self[code] = kept = code if unicodedata.category(chr(code))[0] in "LMN" else None
        return kept


_LETTERS = _Letters()


def text_digest(text: str, speaker: str) -> bytes:
    """Return a checksum of the speaker and of the letters and digits of a text, ignoring case."""
    letters = text.casefold().translate(_LETTERS)
    return hashlib.blake2b(f"{speaker}\0{letters or text}".encode(errors="surrogatepass"), digest_size=16).digest()


def first_equal(digests: Iterable[bytes]) -> npt.NDArray[np.int64]:
    """Return the position of the first earlier equal checksum for each checksum, or -1; [n]."""
    first: dict[bytes, int] = {}
    first_positions = [first.setdefault(digest, position) for position, digest in enumerate(digests)]
    positions = np.array(first_positions, np.int64)
    return np.where(positions == np.arange(len(positions)), -1, positions)


def fingerprint(mel: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return a unit vector that describes a mel, [N_BANDS * N_CELLS], or zeros if the mel is constant in time.

    Values are averaged over bands and cells, and the mean of each band is subtracted, so that the result is robust
    against gain and equalization. The dot product of two fingerprints is their correlation.
    """
    n_frames, n_mels = mel.shape
    if not n_frames:
        return np.zeros(N_BANDS * N_CELLS, np.float32)
    grid = np.empty((min(N_BANDS, n_mels), N_CELLS), np.float32)
    _fill_means(mel, grid)
    grid -= grid.mean(axis=1, keepdims=True)
    norm = np.float32(np.linalg.norm(grid))
    vector = np.zeros(N_BANDS * N_CELLS, np.float32)
    if norm > 1e-3:
        vector[: grid.size] = (grid / norm).reshape(-1)
    return vector


@Compiled
def _fill_means(mel: Any, grid: Any) -> None:
    """Fill a grid, [n_bands, n_cells], with the means of a mel; of fewer frames than cells, some are repeated."""
    (n_frames, n_mels), (n_bands, n_cells) = mel.shape, grid.shape
    total = np.empty(n_mels, np.float32)
    for cell in range(n_cells):
        start = cell * n_frames // n_cells
        stop = max((cell + 1) * n_frames // n_cells, start + 1)
        total[:] = 0
        for frame in mel[start:stop]:
            for i in range(n_mels):
                total[i] += frame[i]
        for band in range(n_bands):
            low, high = band * n_mels // n_bands, (band + 1) * n_mels // n_bands
            grid[band, cell] = total[low:high].sum() / ((high - low) * (stop - start))


def most_similar_before(
    fingerprints: npt.NDArray[np.float32], lengths: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Find the most similar earlier utterance of about the same duration for each utterance.

    Utterances are compared block by block, so that memory is bounded.

    Args:
        fingerprints: [n, N_BANDS * N_CELLS], from `fingerprint`.
        lengths: [n] seconds.

    Returns:
        The correlations, [n], and the positions, [n]; NaN and -1 if there is no such utterance.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    best = np.full(len(order), -np.inf, np.float32)
    partner = np.full(len(order), -1, np.int64)
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        # Each pair occurs once, with the longer utterance as the row; _keep_best selects the earlier one.
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
    """Update the best partner of each row from the columns that are earlier in the store."""
    earlier = np.where(columns[None, :] < rows[:, None], similarity, np.float32(-np.inf))
    at = earlier.argmax(axis=1)
    similarities = earlier[np.arange(len(rows)), at]
    better = similarities > best[rows]
    best[rows[better]] = similarities[better]
    partner[rows[better]] = columns[at[better]]
