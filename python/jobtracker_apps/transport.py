"""One HTTP request on a connection of its own."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    #: By lower-case names.
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Sends one request; raises OSError or http.client.HTTPException if no whole answer comes."""

    def __call__(
        self, server: str, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> Answer: ...


def send(
    server: str, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
) -> Answer:
    """A connection for each request: none can go stale while the program computes."""
    connection = http.client.HTTPConnection(server, timeout=timeout_s)
    try:
        connection.request(method, target, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
    finally:
        connection.close()
