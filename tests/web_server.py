"""A web server on this machine that serves a folder, with faults on request, and counts what it sends."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    """

    name: str
    number: int
    status: int
    body: bytes
    length: int | None
    pause: float = 0.0
    pieces: int = 1
    location: str = ""


@dataclass
class WebServer:
    """A running server."""

    folder: Path
    fault: Fault | None = None
    requests: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    url: str = ""

    def answer(self, name: str) -> Answer:
        number = self.requests[name]
        self.requests[name] += 1
        path = self.folder / name
        body = path.read_bytes() if path.is_file() else b"no such file"
        answer = Answer(name, number, 200 if path.is_file() else 404, body, len(body))
        if self.fault is not None:
            self.fault(answer)
        return answer


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, server: WebServer, *arguments: object) -> None:
        self.web = server
        super().__init__(*arguments)

    def do_GET(self) -> None:
        answer = self.web.answer(unquote(self.path.lstrip("/")))
        self.send_response(answer.status)
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
                self.wfile.write(answer.body[start : start + step])
                self.wfile.flush()
                self.web.sent += len(answer.body[start : start + step])
        except OSError:
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *arguments: object) -> None:
        """Print nothing about clients that went away."""


@contextmanager
def serving(folder: Path, fault: Fault | None = None) -> Iterator[WebServer]:
    """Run a server of a folder in threads."""
    web = WebServer(folder, fault)
    server = _Server(("127.0.0.1", 0), functools.partial(_Handler, web))
    web.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
