"""Where shards end: decided by the rows around each end."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Sequence

import pytest

from tts_prep.preprocess.plan.shard_plans import WeighedRow, shards_by_ids

IDS = [f"LJ{number:05d}" for number in range(3000)]


def shards(ids: Sequence[str], size: int) -> list[list[str]]:
    return list(shards_by_ids([WeighedRow(one, one, 1) for one in ids], size))


def ends_by_definition(ids: Sequence[str], size: int) -> set[int]:
    """Return the ends that depend on their surroundings alone, by trying every row against every other."""
    hashes = [hashlib.sha256(one.encode()).digest()[:8] for one in ids]
    near = size // 2
    return {
        i + 1
        for i in range(near, len(ids) - near - 1)
        if all((hashes[i], i) <= (hashes[j], j) for j in range(i - near, i + near + 1))
    }


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 128])
def test_every_row_is_in_one_shard_in_order_and_shards_have_from_half_to_twice_the_size(size: int) -> None:
    found = shards(IDS, size)
    assert [one for shard in found for one in shard] == IDS
    assert all(size / 2 < len(shard) <= 2 * size for shard in found)
    assert 0.75 < len(IDS) / len(found) / size < 1.5


@pytest.mark.parametrize("size", [3, 16, 128])
def test_ends_are_the_rows_with_the_smallest_hash_around_them(size: int) -> None:
    found = shards(IDS, size)
    ends = {sum(map(len, found[: number + 1])) for number in range(len(found) - 1)}
    expected = ends_by_definition(IDS, size)
    assert expected <= ends
    # The others divide what would be more than twice the size.
    whole = [0, *sorted(expected), len(IDS)]
    for start, end in itertools.pairwise(whole):
        assert (end - start > 2 * size) == any(start < other < end for other in ends)


@pytest.mark.parametrize(
    ("size", "edits"), [(16, 60), *(pytest.param(size, 150, marks=pytest.mark.soak) for size in (4, 16, 64))]
)
def test_an_edit_changes_its_own_shard_and_at_most_its_neighbours(size: int, edits: int) -> None:
    before = {tuple(shard) for shard in shards(IDS, size)}
    choose = random.Random(size)
    changed = []
    for number in range(edits):
        place = choose.randrange(len(IDS))
        kept = IDS[place + number % 2 :]
        after = shards([*IDS[:place], *([] if number % 3 == 1 else [f"new {number}"]), *kept], size)
        places = [position for position, shard in enumerate(after) if tuple(shard) not in before]
        assert places == [] or places[-1] - places[0] < 4, "the changed shards are beside one another"
        changed.append(len(places))
    assert max(changed) <= 4
    assert sum(changed) / len(changed) < 1.5


def test_the_first_rows_of_a_sorted_corpus_can_be_removed() -> None:
    before = {tuple(shard) for shard in shards(IDS, 16)}
    after = shards(IDS[1000:], 16)
    assert sum(tuple(shard) not in before for shard in after) <= 2


def test_a_heavy_row_fills_a_shard_alone_or_with_few_others() -> None:
    weights = {one: 40 if position % 50 == 7 else 1 for position, one in enumerate(IDS[:500])}
    found = list(shards_by_ids([WeighedRow(one, one, weight) for one, weight in weights.items()], 16))
    assert [one for shard in found for one in shard] == IDS[:500]
    for shard in found:
        light = sum(weights[one] for one in shard if weights[one] == 1)
        assert light <= 32, shard


def test_rows_without_ids_are_divided_too() -> None:
    found = list(shards_by_ids([WeighedRow(number, "", 1) for number in range(100)], 8))
    assert [row for shard in found for row in shard] == list(range(100))
    assert all(4 < len(shard) <= 16 for shard in found)


def test_a_small_corpus_is_one_shard() -> None:
    assert shards(IDS[:5], 128) == [IDS[:5]]
    assert shards([], 128) == []


def test_rows_are_read_as_they_are_needed() -> None:
    read = 0

    def rows() -> object:
        nonlocal read
        for one in IDS:
            read += 1
            yield WeighedRow(one, one, 1)

    first = next(shards_by_ids(rows(), 16))  # type: ignore[arg-type]
    assert read < len(first) + 200
