"""Prefetching: batches computed, and data requested from disk, in advance."""

import ctypes
import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy.typing as npt


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


try:
    import resource

    _THREAD = getattr(resource, "RUSAGE_THREAD", None)
except ImportError:  # not on Windows
    _THREAD = None

Task: TypeAlias = tuple[int, Any, tuple[Any, ...]]

_SMALLEST = 1 << 14
"""Bytes: the system reads at least this much around any byte, so a smaller request has no effect."""

READ_AHEAD = 8
"""Number of batches for which data is requested in advance."""


class ReadingAhead:
    """Make batches, and request the data of the next batches while data comes from disk.

    Create one object per epoch. Threads may share it: a race at most omits or repeats a request.

    Args:
        make: makes the batch of positions.
        ask: requests the data of positions from the system, without waiting for it.
    """

    def __init__(self, make: Callable[[Any], Any], ask: Callable[[Any], None]) -> None:
        self._make = make
        self._ask = ask
        self._asked = 0
        self._cold = 0

    def tasks(self, batches: Iterable[Any]) -> Iterator[Task]:
        """Yield the argument of `make` for each batch: its number, its positions, and those of the next batches."""
        coming: deque[Any] = deque()
        number = 0
        for positions in batches:
            coming.append(positions)
            if len(coming) > READ_AHEAD:
                yield number, coming.popleft(), tuple(coming)
                number += 1
        while coming:
            yield number, coming.popleft(), tuple(coming)
            number += 1

    def make(self, task: Task) -> Any:
        """Make the batch of a task."""
        number, positions, later = task
        before = disk_reads()
        if self._cold:
            self._cold -= 1
            for distance, coming in enumerate(later, 1):
                if number + distance > self._asked:
                    self._asked = number + distance
                    self._ask(coming)
        batch = self._make(positions)
        if disk_reads() > before:
            # This counts the reads caused by requests too, so requests continue while any of them reaches the disk.
            self._cold = READ_AHEAD
        return batch


def disk_reads() -> int:
    """Return a counter of the disk reads of this thread, in no particular unit; 0 if the system provides none."""
    if _THREAD is None:
        return 0
    usage = resource.getrusage(_THREAD)
    return usage.ru_majflt + usage.ru_inblock


def ask_for(view: npt.NDArray[Any]) -> None:
    """Ask the system to read the pages of a view of a memory map, without waiting. No effect on other arrays."""
    if _madvise is None or view.nbytes < _SMALLEST:
        return
    address = view.__array_interface__["data"][0]
    start = address - address % mmap.PAGESIZE
    _madvise(start, address - start + view.nbytes, mmap.MADV_WILLNEED)


def _find_madvise() -> Any:
    """Return the C library's madvise, which, unlike `mmap.madvise`, releases the GIL; None if it has none."""
    if not hasattr(mmap, "MADV_WILLNEED"):
        return None
    function = getattr(ctypes.CDLL(None), "madvise", None)
    if function is not None:
        function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


_madvise = _find_madvise()
