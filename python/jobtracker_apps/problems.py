"""What the server refuses, as exceptions: one class a problem, with the member at fault."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MemberError:
    """One mistake: where it is and what was expected."""

    detail: str
    #: JSON Pointer into the body as URI fragment, such as `#/ask/2/capability/memory`.
    pointer: str | None = None
    #: Name of a parameter of the query.
    parameter: str | None = None

    def __str__(self) -> str:
        place = self.pointer or self.parameter
        return f"{place}: {self.detail}" if place else self.detail


class ApplicationError(Exception):
    """Everything that this package raises on its own account."""


class Unreachable(ApplicationError):
    """The server did not answer in time; the cause is `__cause__`."""

    def __init__(self, server: str, cause: BaseException) -> None:
        super().__init__(f"{server} cannot be reached: {cause or type(cause).__name__}")
        self.server = server
        self.__cause__ = cause


class Problem(ApplicationError):
    """An answer `application/problem+json` (RFC 9457)."""

    #: The last part of the problem's `type`.
    name = ""

    def __init__(self, status: int, members: Mapping[str, Any]) -> None:
        kind = str(members.get("type", ""))
        self.name = kind.rpartition("/")[2] or type(self).name
        self.status = status
        self.title = str(members.get("title", ""))
        self.detail = str(members.get("detail", ""))
        #: The path of the request.
        self.instance = str(members.get("instance", ""))
        #: Class name of the exception that Hadoop has for it, if any.
        self.exception: str | None = members.get("exception")
        self.errors: tuple[MemberError, ...] = tuple(
            MemberError(str(error.get("detail", "")), error.get("pointer"), error.get("parameter"))
            for error in members.get("errors", ())
        )
        #: All members, also those of one problem only.
        self.members: dict[str, Any] = dict(members)
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"{self.status} {self.name}".rstrip() + f": {self.detail or self.title}"
        # The detail may be that of the only error.
        return "; ".join([text, *(str(error) for error in self.errors if str(error) not in text)])


class InvalidRequest(Problem):
    """The body or the query is not what the address takes: `errors` names each member."""

    name = "invalid-request"


class InvalidResourceRequest(Problem):
    """A row of `ask` or a launch is wrong: nothing of the call was applied."""

    name = "invalid-resource-request"


class SignatureRefused(Problem):
    """No signature, or none that is good for this request."""

    name = "signature-refused"


class TimestampRefused(Problem):
    """The timestamp was used before, or is too far from the server's clock."""

    name = "timestamp-refused"

    @property
    def server_time_ms(self) -> int:
        """The server's clock, ms since the epoch."""
        return int(self.members["server-time-ms"])


class Forbidden(Problem):
    """The caller is known, but may not do this."""

    name = "forbidden"


class NoSuchApplication(Problem):
    """There is no such application, or its id has lapsed."""

    name = "no-such-application"


class NoSuchContainer(Problem):
    """There is no such container, or its log is gone with its node."""

    name = "no-such-container"


class NoSuchNode(Problem):
    """There is no such node."""

    name = "no-such-node"


class NoSuchAddress(Problem):
    """The server has no such address."""

    name = "no-such-address"


class Resync(Problem):
    """The server does not know this conversation: register again and send everything."""

    name = "resync"


class Superseded(Problem):
    """Another process has registered for the application."""

    name = "superseded"


class ApplicationExists(Problem):
    """The application was submitted with another body."""

    name = "application-exists"


class ApplicationOver(Problem):
    """The application has ended."""

    name = "application-over"

    @property
    def state(self) -> str:
        """FINISHED, FAILED or KILLED."""
        return str(self.members.get("state", ""))


class TooMany(Problem):
    """A limit is reached; `detail` names it."""

    name = "too-many"


class Unavailable(Problem):
    """The server starts, stops or cannot write."""

    name = "unavailable"


_CLASSES: dict[str, type[Problem]] = {problem.name: problem for problem in Problem.__subclasses__()}
#: A body that did not arrive in time, and what a proxy answers while the server behind it does not.
_PASSING = (408, 502, 503, 504)


def problem_of(status: int, body: bytes) -> Problem:
    """The exception for an answer that is no success."""
    try:
        members = json.loads(body)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        members = {"detail": body[:200].decode("utf-8", "replace").strip()}
    name = str(members.get("type", "")).rpartition("/")[2]
    default = Unavailable if status in _PASSING else Problem
    found = _CLASSES.get(name, default)
    if found is TimestampRefused and not isinstance(members.get("server-time-ms"), int):
        found = Problem
    return found(status, members)
