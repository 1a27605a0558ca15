"""A web server on this machine, of a folder or before another server, with faults on request; it counts."""

from __future__ import annotations

import functools
import re
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

Fault = Callable[["Answer"], None]


@dataclass
class Answer:
    """The answer to a request, which a fault may change.

    Attributes:
        name: the path of the file, relative to the folder.
        number: how often the file was asked for before.
        length: the value of Content-Length; None leaves it out.
        pause: seconds before each of `pieces` parts of the body.
        headers: further headers.
        is_reset: end the connection as a server does that is killed.
    """

    name: str
    number: int
    status: int
    body: bytes
    length: int | None
    pause: float = 0.0
    pieces: int = 1
    location: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    is_reset: bool = False


@dataclass
class WebServer:
    """A running server.

    Attributes:
        sent_of: bytes of files by the first part of their path.
        upstream: host and port of the server that answers instead of the folder.
    """

    folder: Path
    fault: Fault | None = None
    requests: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    sent_of: Counter[str] = field(default_factory=Counter)
    url: str = ""
    upstream: str = ""

    def answer(self, path: str, method: str, headers: dict[str, str]) -> Answer:
        name = unquote(path.lstrip("/"))
        number = self.requests[name]
        self.requests[name] += 1
        answer = self._forwarded(path, method, headers) if self.upstream else self._of_folder(name, headers)
        answer.name, answer.number = name, number
        if self.fault is not None:
            self.fault(answer)
        return answer

    def _of_folder(self, name: str, headers: dict[str, str]) -> Answer:
        path = self.folder / name
        if not path.is_file():
            return Answer(name, 0, 404, b"no such file", 12)
        body = path.read_bytes()
        if (asked := re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))) is None:
            return Answer(name, 0, 200, body, len(body))
        start = int(asked[1])
        if start >= len(body):
            return Answer(name, 0, 416, b"", 0)
        range_ = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
        return Answer(name, 0, 206, body[start:], len(body) - start, headers=range_)

    def _forwarded(self, path: str, method: str, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection(self.upstream, timeout=60)
        connection.request(method, path, headers=headers)
        found = connection.getresponse()
        body = found.read()
        connection.close()
        length = int(found.headers.get("Content-Length", len(body)))
        ours = ("content-length", "connection", "server", "date", "transfer-encoding")
        others = {name: value for name, value in found.headers.items() if name.lower() not in ours}
        return Answer("", 0, found.status, body, length, headers=others)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, server: WebServer, *arguments: object) -> None:
        self.web = server
        super().__init__(*arguments)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        answer = self.web.answer(self.path, self.command, dict(self.headers))
        if self.command == "HEAD":
            answer.body = b""
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.location:
            self.send_header("Location", answer.location)
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
        self.send_header("Connection", "close")
        self.end_headers()
        step = max(1, -(-len(answer.body) // answer.pieces))
        try:
            for start in range(0, len(answer.body), step):
                if answer.pause:
                    time.sleep(answer.pause)
                self._write(answer, answer.body[start : start + step])
            if answer.is_reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
        except OSError:
            self.close_connection = True

    def _write(self, answer: Answer, piece: bytes) -> None:
        # Counted as they go, because a client may end meanwhile, and before they go, because a client that has the last
        # ones may look at once.
        for start in range(0, len(piece), 1 << 16):
            part = piece[start : start + (1 << 16)]
            self.web.sent += len(part)
            self.web.sent_of[answer.name.partition("/")[0]] += len(part)
            self.wfile.write(part)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *arguments: object) -> None:
        """Print nothing about clients that went away."""


@contextmanager
def serving(
    folder: Path, fault: Fault | None = None, *, upstream: str = "", tls: ssl.SSLContext | None = None
) -> Iterator[WebServer]:
    """Run a server in threads."""
    web = WebServer(folder, fault, upstream=upstream)
    server = _Server(("127.0.0.1", 0), functools.partial(_Handler, web))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    web.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def running(command: list[str], said: str) -> Iterator[int]:
    """Run a server that chooses its port, and yield it.

    Args:
        said: a pattern of what the server prints as soon as it listens, with the port as its group.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        printed: list[str] = []
        # A full pipe would stop the server.
        reader = threading.Thread(target=process.stdout.read)
        try:
            for line in process.stdout:
                printed.append(line)
                if found := re.search(said, line):
                    break
            else:
                raise RuntimeError(f"the server has ended: {''.join(printed)}")
            reader.start()
            yield int(found[1])
        finally:
            process.kill()
            if reader.ident is not None:
                reader.join()
