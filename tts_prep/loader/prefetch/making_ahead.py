"""Results made ahead of time, in order: by threads, and by the caller where it would only wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any


class _Ticket:
    """One result, made by whoever comes first."""

    def __init__(self, pool: ThreadPoolExecutor, make: Callable[[], Any]) -> None:
        self._make = make
        self._future: Future[Any] = pool.submit(make)
        self.done = self._future.done
        self.result = self._future.result

    def claim(self) -> bool:
        """Make the result here and now unless a thread has begun to; return whether that was so."""
        if not self._future.cancel():
            return False
        self._future = Future()
        self.done = self._future.done
        self.result = self._future.result
        try:
            self._future.set_result(self._make())
        except Exception as error:  # raised where the result is due, which may be later
            self._future.set_exception(error)
        return True


def made_ahead(
    make: Callable[[Any], Any], tasks: Iterator[Any], ahead: int, threads: int, *, helped: bool
) -> Iterator[Any]:
    """Yield the result of every task, in order, with some made ahead; the threads end with the iteration.

    An exception of `make` is raised where its result would have come.

    Args:
        make: from a task to its result; called in the threads.
        tasks: taken one by one, in the caller's thread, no earlier than needed.
        ahead: how many results are made before they are asked for, at most.
        threads: how many there are.
        helped: whether the caller's thread may call `make` too: it then begins the next task that no thread has begun
            whenever the result that it is asked for is not there yet.
    """
    pool = ThreadPoolExecutor(threads, "tts-prep-loader")
    try:
        coming: deque[_Ticket] = deque()

        def submit(count: int) -> None:
            coming.extend(_Ticket(pool, partial(make, task)) for task in islice(tasks, count))

        submit(ahead)
        while coming:
            ticket = coming.popleft()
            # Before this one is there, so that the threads have something to go on with.
            submit(1)
            while helped and not ticket.done() and any(other.claim() for other in (ticket, *coming)):
                pass
            result = ticket.result()
            yield result
            # Or its memory could not be used again for what is made next.
            del result, ticket
    finally:
        # Reached by a break and by an exception of the caller as well, since that closes this generator.
        pool.shutdown(wait=True, cancel_futures=True)
