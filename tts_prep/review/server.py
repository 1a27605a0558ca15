"""The HTTP server of a review: on this machine only, for whoever has the address with its random token."""

import contextlib
import hmac
import importlib.resources
import json
import secrets
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tts_prep.errors import ConfigurationError
from tts_prep.review.pages import Answer, Pages, json_answer

_MAX_BODY: Final = 65_536
_MAX_QUERY: Final = 8_192
_MAX_FIELDS: Final = 20
_MAX_CONNECTIONS: Final = 64
_MAX_SECONDS: Final = 120.0
"""The maximum duration of a connection."""

_HEADERS: Final = json.loads(importlib.resources.files(__package__).joinpath("headers.json").read_text("utf-8"))


class ReviewServer(ThreadingHTTPServer):
    """Serves the pages of a review at ``http://127.0.0.1:PORT/TOKEN/``.

    Args:
        pages: what is served.
        port: the port; 0 chooses a free one.

    Raises:
        ConfigurationError: the port is in use, or may not be used.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pages: Pages, port: int = 0) -> None:
        self.pages = pages
        self.token = secrets.token_urlsafe(24)
        self._connections: dict[socket.socket, float] = {}
        self._guard = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise ConfigurationError(
                f"port {port}: cannot be used ({error.strerror or error}); give another --port"
            ) from error

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of the page."""
        return tuple(f"http://{host}:{self.server_port}" for host in ("127.0.0.1", "localhost"))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"{self.origins[0]}/{self.token}/"

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        """Refuse connections beyond the limit."""
        with self._guard:
            if len(self._connections) >= _MAX_CONNECTIONS:
                return False
            self._connections[request] = time.monotonic()
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and forget it."""
        with self._guard:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that last too long, such as those of a client that sends a byte now and then."""
        with self._guard:
            oldest = time.monotonic() - _MAX_SECONDS
            late = [connection for connection, since in self._connections.items() if since < oldest]
        for connection in late:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away; print other errors, which are faults of this program."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; a connection is closed after it."""

    server: ReviewServer
    server_version = "tts-prep"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Answer a request for the page or its data."""
        self._answer(self._get())

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Answer a decision."""
        self._answer(self._post())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing: an address has the token."""

    def _get(self) -> Answer:
        path, query = self._path()
        # Other sites may link to the page, but get nothing of it.
        if path is None or not self._is_own(navigation=path == ""):
            return _refused()
        if len(query) > _MAX_QUERY or query.count("&") >= _MAX_FIELDS:
            return json_answer({"error": f"expected at most {_MAX_QUERY:,} characters of {_MAX_FIELDS} fields"}, 414)
        return self.server.pages.get(path, dict(parse_qsl(query, keep_blank_values=True)))

    def _post(self) -> Answer:
        path, _ = self._path()
        if path is None or not self._is_own() or self.headers.get("Origin") not in self.server.origins:
            return _refused()
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 9) or int(length) > _MAX_BODY:
            return json_answer({"error": f"expected a request of at most {_MAX_BODY:,} bytes"}, 413)
        if self.headers.get("Content-Type") != "application/json":
            return json_answer({"error": "expected application/json"}, 415)
        return self.server.pages.post(path, self.rfile.read(int(length)))

    def _path(self) -> tuple[str | None, str]:
        """Return the path below the address of the page, or None if the token is wrong, and the query."""
        try:
            parts = urlsplit(self.path)
        except ValueError:
            return None, ""
        token, slash, path = parts.path.removeprefix("/").partition("/")
        right = hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode())
        return (path if right and slash and self.path.startswith("/") else None), parts.query

    def _is_own(self, *, navigation: bool = False) -> bool:
        """Return whether a request is for this host, and from the page itself or from the address bar."""
        hosts = [origin.removeprefix("http://") for origin in self.server.origins]
        if len(self.headers.get_all("Host", [])) != 1 or self.headers["Host"] not in hosts:
            return False
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        if navigation and self.headers.get("Sec-Fetch-Mode", "navigate") == "navigate":
            return True
        return origin in (None, *self.server.origins) and site in ("same-origin", "none")

    def _answer(self, answer: Answer) -> None:
        status, body, headers = answer.status, answer.body, {**_HEADERS, **answer.headers}
        if status == 200 and answer.kind == "audio/wav":
            headers["Accept-Ranges"] = "bytes"
            status, body, more = _part(body, self.headers.get("Range"))
            headers.update(more)
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _refused() -> Answer:
    return json_answer({"error": "open the address that tts-prep review has printed"}, 403)


def _part(body: bytes, wanted: str | None) -> tuple[int, bytes, dict[str, str]]:
    """Return status, content and headers for a range of bytes, as RFC 9110 defines it; all for any other header."""
    unit, _, text = (wanted or "").partition("=")
    first, dash, last = text.partition("-")
    digits = all(part == "" or (part.isascii() and part.isdecimal() and len(part) < 16) for part in (first, last))
    if unit != "bytes" or not dash or not digits or not (first or last):
        return 200, body, {}
    size = len(body)
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    if start >= size or stop <= start:
        return 416, b"", {"Content-Range": f"bytes */{size}"}
    return 206, body[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{size}"}
