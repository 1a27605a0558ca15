"""made_ahead: results in the order of tasks, whichever thread computes them, and threads that end."""

import itertools
import threading
import time

import numpy as np
import pytest

from tts_prep.loader.prefetch import made_ahead


def in_background():
    return threading.current_thread().name.startswith("tts-prep-loader")


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("tts-prep-loader")]


@pytest.mark.parametrize("helped", [False, True])
@pytest.mark.parametrize(("ahead", "n_threads"), [(1, 1), (2, 1), (3, 2), (5, 3)])
def test_every_result_is_made_once_and_comes_in_order(ahead, n_threads, helped):
    pauses = np.random.default_rng(0).choice([0, 0, 1e-4, 1e-3], 200)
    made = []

    def make(task):
        time.sleep(pauses[task])
        made.append(task)
        return -task

    assert list(made_ahead(make, iter(range(200)), ahead, n_threads, helped=helped)) == [-task for task in range(200)]
    assert sorted(made) == list(range(200))
    assert not threads()


def test_the_caller_makes_what_no_thread_has_begun_rather_than_wait():
    begun, made = threading.Event(), threading.Event()
    makers = {}

    def make(task):
        makers[task] = "thread" if in_background() else "caller"
        if task == 0:
            begun.set()
            assert made.wait(60)
        if task == 1:
            made.set()
        return task

    def tasks():
        yield 0
        assert begun.wait(60)
        yield 1

    # The only thread cannot end its task before the caller has made the one after it.
    assert list(made_ahead(make, tasks(), 2, 1, helped=True)) == [0, 1]
    assert makers == {0: "thread", 1: "caller"}


def test_the_caller_makes_nothing_unless_it_may():
    results = made_ahead(lambda _: time.sleep(1e-3) or in_background(), iter(range(20)), 3, 1, helped=False)
    assert all(results)


def test_an_exception_in_the_caller_comes_where_its_result_would():
    begun, failed = threading.Event(), threading.Event()

    def make(task):
        if in_background():
            begun.set()
            assert failed.wait(60)
            return task
        failed.set()
        raise ZeroDivisionError(task)

    def tasks():
        yield 0
        assert begun.wait(60)
        yield 1

    results = made_ahead(make, tasks(), 2, 1, helped=True)
    assert next(results) == 0
    with pytest.raises(ZeroDivisionError, match="1"):
        next(results)
    assert not threads()


@pytest.mark.parametrize("helped", [False, True])
def test_no_more_tasks_are_taken_than_results_are_asked_for_and_made_ahead(helped):
    tasks = itertools.count()
    results = made_ahead(lambda task: task, tasks, 4, 1, helped=helped)
    assert next(results) == 0
    assert next(results) == 1
    results.close()
    assert next(tasks) == 6
    assert not threads()


def test_a_result_that_was_taken_is_kept_by_nobody_else_when_the_next_is_asked_for():
    class Result:
        alive = 0

        def __init__(self):
            Result.alive += 1

        def __del__(self):
            Result.alive -= 1

    alive = []
    results = made_ahead(lambda _: (alive.append(Result.alive), Result())[1], iter(range(50)), 1, 1, helped=True)
    for result in results:
        assert isinstance(result, Result)
        del result
    # At most the one that is made ahead, the one that is asked for and one that a thread is just letting go of.
    assert max(alive) <= 2
