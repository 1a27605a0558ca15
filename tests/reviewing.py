"""A client of a review that sends what it is told to, and a small store for it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from stores import Row, make_rows

from tts_prep.review.pages import Pages
from tts_prep.review.server import ReviewServer


@dataclass
class Review:
    """A running server; a request has the headers of the page's own requests, unless others are given."""

    server: ReviewServer
    rows: list[Row]

    @property
    def pages(self) -> Pages:
        return self.server.pages

    @property
    def base(self) -> str:
        return f"/{self.server.token}/"

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        own = {"Host": f"127.0.0.1:{self.server.server_port}", "Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            own |= {"Origin": self.server.origins[0], "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {**own, **(headers or {}), **({"Content-Length": str(len(body))} if body is not None else {})}
            for name, value in given.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Any:
        status, _, body = self.ask("GET", self.base + path, headers=headers)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, **value: Any) -> tuple[int, Any]:
        status, _, body = self.ask("POST", self.base + path, json.dumps(value).encode())
        return status, json.loads(body)


Serve = Callable[..., Review]


def example_rows() -> list[Row]:
    """Return six utterances; the last has the samples of the first."""
    rows = make_rows([40, 25, 60, 80, 33, 40])
    return [*rows[:5], replace(rows[5], mel=rows[0].mel, waveform=rows[0].waveform, seconds=rows[0].seconds)]
