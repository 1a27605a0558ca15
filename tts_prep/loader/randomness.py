"""Random numbers that are a pure function of seed and epoch, the same with every version of numpy.

numpy keeps the raw output of a bit generator for ever, but not what `Generator.permutation` and its like make of
it; and their state would have to be handed around. So everything here is made of raw output.
"""

from __future__ import annotations

import hashlib
import operator
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError

_LARGE = 1 << 20
_BLOCK = 1 << 16
_ROUNDS = 6

Words = npt.NDArray[np.uint64]


def check_seed(seed: int) -> int:
    """Return a seed that can be used.

    Raises:
        ConfigurationError: it is negative.
    """
    value = operator.index(seed)
    if value < 0:
        raise ConfigurationError(f"seed: expected a number from 0 on, found {value}")
    return value


def random_words(n: int, seed: int, epoch: int, stream: int = 0) -> Words:
    """Return [n] random 64-bit words.

    Args:
        n: how many.
        seed: from 0 on.
        epoch: from 0 on.
        stream: another number for every other use in one epoch.
    """
    generator = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(epoch, stream)))
    words: Words = generator.random_raw(n)
    return words


def sort_order(keys: Words, key_bits: int, words: Words) -> npt.NDArray[np.int64]:
    """Return the positions of keys in ascending order, equal ones in random order.

    Key, randomness and position are packed into one word each and sorted as plain numbers: several times faster
    than an indirect sort, and the same with every algorithm, since no two words are equal.

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
    """Sort in place; large arrays in two halves at once, whose merge is one pass."""
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


class RandomParts:
    """The numbers below n, dealt out at random into parts, each of which is made without the others.

    A permutation of the numbers below a power of two that is never written down: a Feistel network whose rounds are
    tables of random words (Luby and Rackoff, *How to construct pseudorandom permutations from pseudorandom
    functions*, 1988). Every part is what an equal stretch of its domain is mapped to, less what is not below n. So
    all parts together have every number once, and the parts differ in size by chance.

    Args:
        n: how many numbers, at least 1.
        n_parts: how many parts.
        seed: from 0 on.
        epoch: from 0 on.
        stream: another number for every other use in one epoch.
    """

    def __init__(self, n: int, n_parts: int, seed: int, epoch: int, stream: int) -> None:
        self._n = n
        self._n_parts = n_parts
        bits = (n - 1).bit_length()
        self._domain = 1 << bits
        self._low_bits = bits - bits // 2
        # A round changes the low half by the high one, the next the high half by the low one, and so on.
        widths = [(bits // 2, self._low_bits), (self._low_bits, bits // 2)] * (_ROUNDS // 2)
        ends = np.cumsum([1 << source for source, _ in widths])
        words = np.split(random_words(int(ends[-1]), seed, epoch, stream), ends[:-1])
        self._tables = [
            (table & np.uint64((1 << target) - 1)).view(np.int64)
            for table, (_, target) in zip(words, widths, strict=True)
        ]

    def part(self, number: int) -> npt.NDArray[np.int64]:
        """Return the numbers of a part in random order."""
        begin, end = (self._domain * i // self._n_parts for i in (number, number + 1))
        # In blocks that stay in the processor's cache.
        blocks = [self._mapped(start, min(end, start + _BLOCK)) for start in range(begin, end, _BLOCK)]
        return np.concatenate([np.empty(0, np.int64), *blocks])

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


def permutation_parts(
    n: int, part_size: int, seed: int, epoch: int, stream: int = 0
) -> Iterator[npt.NDArray[np.int64]]:
    """Return the numbers below n in random order, in parts of about a size, each made when it is reached.

    As many as one part holds come in the order of `permutation`.
    """
    if n <= part_size:
        yield permutation(n, seed, epoch, stream)
        return
    parts = RandomParts(n, -(-n // part_size), seed, epoch, stream)
    yield from map(parts.part, range(-(-n // part_size)))


def digest(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's values, the same for every dtype that holds them, hexadecimal."""
    block = 1 << 20
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    found = hashlib.sha256(np.dtype(kind).str.encode())
    for start in range(0, len(array), block):
        found.update(np.ascontiguousarray(array[start : start + block], kind))
    return found.hexdigest()
