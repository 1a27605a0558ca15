"""Bytes as they arrive from a server: limits on its silence, on slow transfers, and on attempts."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any

BLOCK = 1 << 22
"""The number of bytes that are asked for at a time."""

_POLL = 0.5
"""Seconds after which a thread that waits for bytes looks whether they are still wanted."""


@dataclass(frozen=True)
class Patience:
    """When a transfer is given up.

    Attributes:
        attempts: how often a file is tried; anew whenever 4 MiB of it have arrived.
        wait: seconds before the second attempt; each later wait is twice as long, give or take a half.
        stall: seconds in which at least `least` bytes have to arrive; after so many without any, no further attempt is
            made.
        least: bytes.
        silence: seconds without a byte after which an attempt is given up.
        outage: seconds since the first failure in which a file is tried further, while the server sends no byte of it.
        longest: seconds of the longest wait.
    """

    attempts: int = 5
    wait: float = 0.5
    stall: float = 60.0
    least: int = 1 << 16
    silence: float = 30.0
    outage: float = 0.0
    longest: float = 15.0


class Stopped(Exception):  # noqa: N818 - not an error
    """The download is no longer wanted."""


@dataclass
class Arrival:
    """When the last bytes of a file arrived, over all attempts (at first, when it was asked for), and how many did."""

    last: float = field(default_factory=time.monotonic)
    done: int = 0


def received(
    source: AbstractContextManager[Any], most: int, patience: Patience, arrival: Arrival, stop: Event
) -> Iterator[bytes]:
    """Yield the bytes of a source as they arrive, up to one byte more than `most`.

    The source is opened, read and closed in a thread of its own, and left to itself if it does not answer: libraries
    have retries of their own that take minutes, and a file system that hangs cannot be interrupted.

    Raises:
        TimeoutError: too few bytes arrive.
        Stopped: `stop` was set.
    """
    pieces: Queue[bytes | BaseException] = Queue(1)
    ended = Event()
    Thread(target=_read, args=(source, most, pieces, ended), name="tts-prep-reader", daemon=True).start()
    done, began, before = 0, time.monotonic(), 0
    try:
        while piece := _next(pieces, patience, stop):
            done += len(piece)
            arrival.last = now = time.monotonic()
            yield piece
            if stop.is_set():
                raise Stopped
            if now - began > patience.stall:
                if done - before < patience.least:
                    raise TimeoutError(f"{done - before:,} bytes in {now - began:.0f} s")
                began, before = now, done
    finally:
        ended.set()
        with suppress(Empty):  # the thread may be waiting for room
            pieces.get_nowait()


def _next(pieces: Queue[bytes | BaseException], patience: Patience, stop: Event) -> bytes:
    """Return the next bytes; none at the end."""
    until = time.monotonic() + patience.silence
    while True:
        try:
            piece = pieces.get(timeout=max(0.0, min(_POLL, until - time.monotonic())))
        except Empty:
            if stop.is_set():
                raise Stopped from None
            if time.monotonic() >= until:
                raise TimeoutError(f"no answer in {patience.silence:.0f} s") from None
            continue
        if isinstance(piece, BaseException):
            raise piece
        return piece


def _read(source: AbstractContextManager[Any], most: int, pieces: Queue[bytes | BaseException], ended: Event) -> None:
    """Put the bytes of a source into a queue, and at last an empty piece or an exception."""
    last: bytes | BaseException = b""
    try:
        with source as file:
            rest = most + 1
            while rest > 0 and not ended.is_set() and (piece := file.read(min(BLOCK, rest))):
                rest -= len(piece)
                pieces.put(piece)
    except BaseException as error:  # raised by the thread that waits
        last = error
    if not ended.is_set():
        pieces.put(last)
