"""Compute results in order and in advance, in threads and in the caller's thread while it would wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any


class _Ticket:
    """One result, computed by the thread that claims it first."""

    def __init__(self, pool: ThreadPoolExecutor, make: Callable[[], Any]) -> None:
        self._make = make
        self._future: Future[Any] = pool.submit(make)
        self.done = self._future.done
        self.result = self._future.result

    def claim(self) -> bool:
        """Compute the result in this thread unless another has started to; return whether this thread did."""
        if not self._future.cancel():
            return False
        self._future = Future()
        self.done = self._future.done
        self.result = self._future.result
        try:
            self._future.set_result(self._make())
        except Exception as error:  # raised when the result is consumed
            self._future.set_exception(error)
        return True


def made_ahead(
    make: Callable[[Any], Any], tasks: Iterator[Any], ahead: int, threads: int, *, helped: bool
) -> Iterator[Any]:
    """Yield the result of every task, in order, and compute later ones in advance. The threads end with the iteration.

    An exception in `make` is raised in the place of its result.

    Args:
        make: computes the result of a task; called in the threads.
        tasks: consumed in the caller's thread, no earlier than needed.
        ahead: the maximum number of results computed in advance.
        threads: the number of threads.
        helped: let the caller's thread call `make` too: while the next result is not ready, it computes the next task
            that no thread has started.
    """
    pool = ThreadPoolExecutor(threads, "tts-prep-loader")
    try:
        coming: deque[_Ticket] = deque()

        def submit(count: int) -> None:
            coming.extend(_Ticket(pool, partial(make, task)) for task in islice(tasks, count))

        submit(ahead)
        while coming:
            ticket = coming.popleft()
            # Before waiting for this one, so that the threads stay busy.
            submit(1)
            while helped and not ticket.done() and any(other.claim() for other in (ticket, *coming)):
                pass
            result = ticket.result()
            yield result
            # Drop the references, so that the memory can be recycled for the next result.
            del result, ticket
    finally:
        # Also reached after a break or an exception in the caller, which close this generator.
        pool.shutdown(wait=True, cancel_futures=True)
