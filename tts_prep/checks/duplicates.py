"""Detection of duplicates: equal samples, similar mels, equal texts."""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.mels import Mels
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


def fingerprints(mels: Mels) -> npt.NDArray[np.float32]:
    """Return unit vectors that describe mels, [n, N_BANDS * N_CELLS]; zeros for mels that are constant in time.

    Values are averaged over bands and cells, and the mean of each band is subtracted, so that the result is robust
    against gain and equalization. The dot product of two fingerprints is their correlation.
    """
    n, n_bands = len(mels.loudest), min(N_BANDS, mels.frames.shape[1])
    grids = np.zeros((n, n_bands, N_CELLS), np.float32)
    _fill_means(mels.frames, mels.starts, grids)
    grids -= grids.mean(axis=2, keepdims=True)
    norms = np.sqrt(np.square(grids).sum(axis=(1, 2)))
    grids /= np.where(norms > 1e-3, norms, np.inf)[:, None, None]
    vectors = np.zeros((n, N_BANDS * N_CELLS), np.float32)
    vectors[:, : n_bands * N_CELLS] = grids.reshape(n, n_bands * N_CELLS)
    return vectors


@Compiled
def _fill_means(frames: Any, starts: Any, grids: Any) -> None:
    """Fill grids, [n, n_bands, n_cells], with the means of mels; of fewer frames than cells, some are repeated."""
    n_mels, (n, n_bands, n_cells) = frames.shape[1], grids.shape
    total = np.empty(n_mels, np.float32)
    for recording in range(n):
        n_frames = starts[recording + 1] - starts[recording]
        for cell in range(n_cells if n_frames else 0):
            start = cell * n_frames // n_cells
            stop = max((cell + 1) * n_frames // n_cells, start + 1)
            total[:] = 0
            for frame in frames[starts[recording] + start : starts[recording] + stop]:
                for i in range(n_mels):
                    total[i] += frame[i]
            for band in range(n_bands):
                low, high = band * n_mels // n_bands, (band + 1) * n_mels // n_bands
                grids[recording, band, cell] = total[low:high].sum() / ((high - low) * (stop - start))


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
            # Copies: of slices, numpy multiplies a block with itself by another routine, whose last bits differ.
            similarity = fingerprints[rows] @ fingerprints[columns].T
            _keep_best(similarity, rows, columns, lengths, 1 - LENGTH_TOLERANCE, best, partner)
            _keep_best(similarity.T, columns, rows, lengths, 1 - LENGTH_TOLERANCE, best, partner)
    return np.where(partner >= 0, best, np.nan).astype(np.float64), partner


@Compiled
def _keep_best(similarity: Any, rows: Any, columns: Any, lengths: Any, least: float, best: Any, partner: Any) -> None:
    """Update the best partner of each row from the columns that are earlier in the store and of about its length.

    Args:
        similarity: [n_rows, n_columns] float32.
        rows, columns: positions in the store.
        lengths: the length of each position.
        least: the least ratio of the lengths of partners.
        best, partner: the greatest similarity of each position so far, and where.
    """
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(columns)):
            # Hardly any is greater, so that the processor foresees this.
            if similarity[i, j] > best[row] and columns[j] < row:
                one, two = lengths[row], lengths[columns[j]]
                if min(one, two) >= max(one, two) * least:
                    best[row], partner[row] = similarity[i, j], columns[j]
