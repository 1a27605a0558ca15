import threading
import time

import pytest

from tts_prep.acoustics.threads import map_slices


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([3, 3, 4, 1], [(0, 3), (3, 4)]),
        ([12, 1, 9, 11, 0, 10], [(0, 1), (1, 3), (3, 4), (4, 6)]),
        ([0, 0, 0], [(0, 3)]),
    ],
)
def test_slices_are_as_long_as_the_maximum_allows_and_longer_items_are_alone(
    lengths: list[int], expected: list[tuple[int, int]]
) -> None:
    assert map_slices(lambda part: (part.start, part.stop), lengths, 10) == expected


def test_an_error_in_a_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        map_slices(lambda part: 1 // part.start, [1, 1], 1)


def test_the_number_of_finished_items_is_reported_by_the_calling_thread() -> None:
    found: list[tuple[int, int]] = []
    map_slices(lambda _: None, [3, 3, 4, 1, 5], 10, lambda done: found.append((done, threading.get_ident())))
    assert found == [(done, threading.get_ident()) for done in (0, 3, 5)]


def test_nothing_is_begun_after_an_error_of_the_report() -> None:
    begun: list[int] = []

    def slow(part: slice) -> None:
        begun.append(part.start)
        time.sleep(0.1)  # so that a busy machine comes to the report in time

    def report(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_slices(slow, [1] * 1000, 1, report)
    assert len(begun) < 500
