"""Random numbers that are a pure function of seed and epoch, the same with every version of numpy.

numpy guarantees the raw output of a bit generator across versions, but not the output of `Generator.permutation` and
similar methods. So this module uses raw output only. It keeps no state: every function takes seed and epoch.
"""

import hashlib
import operator
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

_LARGE = 1 << 20
_CHUNK = 1 << 16
_ROUNDS = 6

Words = npt.NDArray[np.uint64]


def check_seed(seed: int) -> int:
    """Return a seed as an int.

    Raises:
        ConfigurationError: it is negative.
    """
    value = operator.index(seed)
    if value < 0:
        raise ConfigurationError(f"seed: expected an integer >= 0, found {value}")
    return value


def random_words(n: int, seed: int, epoch: int, stream: int = 0) -> Words:
    """Return [n] random 64-bit words.

    Args:
        n: how many.
        seed: a non-negative integer.
        epoch: a non-negative integer.
        stream: a different number for each use within an epoch.
    """
    generator = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch, stream)))
    words: Words = generator.random_raw(n)
    return words


def sort_order(keys: Words, key_bits: int, words: Words) -> npt.NDArray[np.int64]:
    """Return the positions of keys in ascending order, equal ones in random order.

    Key, random bits and position are packed into one word per element, and the words are sorted: several times
    faster than an indirect sort. No two words are equal, so every sorting algorithm gives the same result.

    Args:
        keys: [n], each below 2 ** key_bits; overwritten.
        key_bits: how many bits the keys need.
        words: [n] random words; overwritten.
    """
    position_bits = max(1, (len(keys) - 1).bit_length())
    if key_bits + position_bits > 64:
        raise ConfigurationError(f"cannot sort {len(keys):,} keys of {key_bits} bits")
    if key_bits:
        words >>= np.uint64(key_bits)
        keys <<= np.uint64(64 - key_bits)
        words |= keys
    mask = np.uint64((1 << position_bits) - 1)
    words &= ~mask
    words |= np.arange(len(words), dtype=np.uint64)
    _sort(words)
    words &= mask
    return words.view(np.int64)


def _sort(words: Words) -> None:
    """Sort in place. Large arrays are sorted as two halves in parallel, then merged in one pass."""
    if len(words) < _LARGE:
        words.sort()
        return
    half = len(words) // 2
    other = threading.Thread(target=words[half:].sort)
    other.start()
    words[:half].sort()
    other.join()
    words.sort(kind="stable")


def permutation(n: int, seed: int, epoch: int, stream: int = 0) -> npt.NDArray[np.int64]:
    """Return the numbers below n in random order, [n]."""
    return sort_order(np.zeros(n, np.uint64), 0, random_words(n, seed, epoch, stream))


class BlockedPermutation:
    """A random permutation of range(n) in blocks, each of which is computed on its own.

    A Feistel network permutes the numbers below a power of two; its rounds are tables of random words (Luby and
    Rackoff, *How to construct pseudorandom permutations from pseudorandom functions*, 1988). Block i is the image of
    the i-th of `n_blocks` equal intervals of that domain, without the numbers from n on. So the blocks together hold
    every number once, and their sizes vary randomly.

    Args:
        n: how many numbers, at least 1.
        n_blocks: the number of blocks.
        seed: a non-negative integer.
        epoch: a non-negative integer.
        stream: a different number for each use within an epoch.
    """

    def __init__(self, n: int, n_blocks: int, seed: int, epoch: int, stream: int) -> None:
        self._n = n
        self._n_blocks = n_blocks
        bits = (n - 1).bit_length()
        self._domain = 1 << bits
        self._low_bits = bits - bits // 2
        # Rounds alternate: one changes the low half by the high half, the next the high half by the low half.
        widths = [(bits // 2, self._low_bits), (self._low_bits, bits // 2)] * (_ROUNDS // 2)
        ends = np.cumsum([1 << source for source, _ in widths])
        words = np.split(random_words(int(ends[-1]), seed, epoch, stream), ends[:-1])
        self._tables = [
            (table & np.uint64((1 << target) - 1)).view(np.int64)
            for table, (_, target) in zip(words, widths, strict=True)
        ]

    def block(self, number: int) -> npt.NDArray[np.int64]:
        """Return the numbers of a block in random order."""
        begin, end = (self._domain * i // self._n_blocks for i in (number, number + 1))
        # In chunks that fit into the processor's cache.
        chunks = [self._mapped(start, min(end, start + _CHUNK)) for start in range(begin, end, _CHUNK)]
        return np.concatenate([np.empty(0, np.int64), *chunks])

    def _mapped(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        low = np.arange(begin, end)
        high = low >> self._low_bits
        low &= (1 << self._low_bits) - 1
        for by_high, by_low in zip(self._tables[::2], self._tables[1::2], strict=True):
            low ^= by_high[high]
            high ^= by_low[low]
        high <<= self._low_bits
        high |= low
        return high[high < self._n]


def permutation_blocks(
    n: int, block_size: int, seed: int, epoch: int, stream: int = 0
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the numbers below n in random order, in blocks of about `block_size`, each computed when it is reached.

    Up to `block_size` numbers are in the order of `permutation`.
    """
    if n <= block_size:
        yield permutation(n, seed, epoch, stream)
        return
    n_blocks = -(-n // block_size)
    yield from map(BlockedPermutation(n, n_blocks, seed, epoch, stream).block, range(n_blocks))


def digest(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's values, hexadecimal; it does not depend on the width of the dtype."""
    block = 1 << 20
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    sha256 = hashlib.sha256(np.dtype(kind).str.encode())
    for start in range(0, len(array), block):
        sha256.update(np.ascontiguousarray(array[start : start + block], kind))
    return sha256.hexdigest()
