"""A network in front of a server on this machine: one link of limited speed that all connections share, and latency.

    python benchmarks/network.py PORT [--round-trip 20] [--gigabits 1]

Prints its own port, and ends with stdin. What the server sends waits for its turn on the link, and arrives half a round
trip later; what the clients send is only late. A connection is accepted after one round trip, as if it was opened
through the link. Windows of TCP that grow, and packets that are lost, are not imitated.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

PIECE = 1 << 16
PIECES = 64
"""On the way in a connection at most: more than a round trip takes at 1 Gbit/s."""


class Link:
    """The link from the server, with so many bytes in a second."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._free = 0.0

    def passed(self, n_bytes: int) -> float:
        """Return when bytes that come now have passed it."""
        self._free = max(self._free, asyncio.get_running_loop().time()) + n_bytes / self._speed
        return self._free


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, late: float, link: Link | None) -> None:
    """Carry bytes in one direction until they end."""
    loop = asyncio.get_running_loop()
    coming: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(PIECES)

    async def deliver() -> None:
        has_failed = False
        while True:
            at, piece = await coming.get()
            await asyncio.sleep(max(0.0, at - loop.time()))
            if not piece:
                return
            if not has_failed:
                try:
                    writer.write(piece)
                    await writer.drain()
                except OSError:  # nobody reads any more; what still comes is taken, so that nobody waits
                    has_failed = True

    delivered = asyncio.create_task(deliver())
    piece = b"-"
    while piece:
        try:
            piece = await reader.read(PIECE)
        except OSError:
            piece = b""
        await coming.put(((link.passed(len(piece)) if link else loop.time()) + late, piece))
    await delivered
    writer.close()


async def serve(port: int, round_trip: float, speed: float) -> None:
    link = Link(speed)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(round_trip)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            carry(reader, to_server, round_trip / 2, None), carry(from_server, writer, round_trip / 2, link)
        )

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description="Put a network in front of a server on this machine.")
    parser.add_argument("port", type=int)
    parser.add_argument("--round-trip", type=float, default=20, help="milliseconds")
    parser.add_argument("--gigabits", type=float, default=1, help="a second, of all connections together")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.round_trip / 1e3, options.gigabits * 1e9 / 8))


if __name__ == "__main__":
    main()
