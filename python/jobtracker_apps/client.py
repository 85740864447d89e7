"""The addresses of the server, one method each. A call that gets no answer is sent again: each of them may be."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, cast

from .model import Json, Submission
from .problems import Problem, SignatureRefused, TimestampRefused, Unavailable, Unreachable, problem_of
from .reports import (
    ApplicationReport,
    ClusterInfo,
    ContainerReport,
    NewApplication,
    NodeReport,
    Submitted,
)
from .request_clock import RequestClock, wall_clock_ms
from .signing import Credentials, Signed, Unsigned, find_credentials, find_server, sha256_hex, sign_request
from .transport import Answer, Transport, send

BASE = "/ws/v1/cluster"
#: How long a call is repeated while the server does not answer.
PATIENCE_S = 600.0
#: The same before the server has ever answered: an address may be wrong.
FIRST_PATIENCE_S = 10.0
#: How long one request may take, beside the time that it asks the server to wait.
TIMEOUT_S = 30.0
FIRST_DELAY_S = 0.1
MAX_DELAY_S = 5.0
#: How often a refused timestamp is replaced: the first time by the server's clock, then since another program of this
#: user may sign in the same millisecond.
MAX_TIMESTAMPS = 8
TIMESTAMP_DELAY_S = 0.003
#: So many entries of a list come at a time.
PAGE = 1000


class Client:
    """Calls as one user, or as one application. Threads may share it."""

    def __init__(
        self,
        server: str,
        credentials: Credentials,
        *,
        patience_s: float = PATIENCE_S,
        first_patience_s: float = FIRST_PATIENCE_S,
        timeout_s: float = TIMEOUT_S,
        transport: Transport = send,
        sleep: Callable[[float], None] = time.sleep,
        now_ms: Callable[[], int] = wall_clock_ms,
        may_be_believed: bool = False,
    ) -> None:
        """`may_be_believed`: names the user without a signature where the key is refused, as by a server without keys."""
        self.server = server
        self.credentials = credentials
        self._may_be_believed = may_be_believed
        self._options: dict[str, Any] = {
            "patience_s": patience_s,
            "first_patience_s": first_patience_s,
            "timeout_s": timeout_s,
            "transport": transport,
            "sleep": sleep,
            "now_ms": now_ms,
        }
        self._patience_s = patience_s
        self._first_patience_s = first_patience_s
        self._timeout_s = timeout_s
        self._transport = transport
        self._sleep = sleep
        self._clock = RequestClock(now_ms)
        self._has_answered = False

    @classmethod
    def find(cls, server: str | None = None, user: str | None = None, key_file: str | None = None) -> Client:
        """A client by what is given, else by the environment and the files that `jobtracker` reads."""
        return cls(find_server(server), find_credentials(user, key_file), may_be_believed=True)

    def as_application(self, application_id: str, secret: str) -> Client:
        """A client of the same server that calls as an application: good for that application's addresses."""
        return Client(self.server, Signed(application_id, secret), **self._options)

    # Calls

    def call(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        wait_ms: int = 0,
    ) -> Json:
        """Sends a request below `/ws/v1/cluster` until it is answered; returns the JSON of a success.

        `body` is JSON in UTF-8. A refusal is a `Problem`, silence for too long `Unreachable` or `Unavailable`.
        """
        answer = self.request(method, BASE + path, parameters=parameters, body=body, wait_ms=wait_ms)
        try:
            return cast(Json, json.loads(answer.body))
        except ValueError:
            raise problem_of(answer.status, answer.body) from None

    def request(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        wait_ms: int = 0,
        is_open: bool = False,
    ) -> Answer:
        """The same for any path of the server; returns the answer, which is a success or a redirection.

        `is_open`: for addresses that need neither signature nor user.
        """
        patience_s = self._patience_s if self._has_answered else self._first_patience_s
        give_up_at = time.monotonic() + patience_s
        delay_s, refusals = FIRST_DELAY_S, 0
        while True:
            failure: Exception
            try:
                timeout_s = self._timeout_s + wait_ms / 1000
                return self._send_once(method, path, parameters or {}, body, timeout_s, is_open, self.credentials)
            except TimestampRefused as problem:
                refusals += 1
                if refusals == MAX_TIMESTAMPS:
                    raise
                self._clock.correct(problem.server_time_ms)
                if refusals > 1:
                    self._sleep(TIMESTAMP_DELAY_S * 2**refusals)
                continue
            except SignatureRefused as problem:
                if not self._may_be_believed or isinstance(self.credentials, Unsigned):
                    raise
                try:
                    named = Unsigned(self.credentials.user)
                    answer = self._send_once(method, path, parameters or {}, body, self._timeout_s, is_open, named)
                except (Problem, OSError, http.client.HTTPException):
                    raise problem from None
                self.credentials = named
                return answer
            except Unavailable as problem:
                failure = problem
            except http.client.InvalidURL:
                raise
            except (OSError, http.client.HTTPException) as error:
                failure = Unreachable(self.server, error)
            if time.monotonic() >= give_up_at:
                raise failure
            self._sleep(delay_s)
            delay_s = min(delay_s * 2, MAX_DELAY_S)

    def _send_once(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any],
        body: bytes | None,
        timeout_s: float,
        is_open: bool,
        credentials: Credentials,
    ) -> Answer:
        pairs: list[tuple[str, str]] = [(name, str(value)) for name, value in parameters.items()]
        headers = {"Accept": "application/json"}
        changes = method not in ("GET", "HEAD")
        if changes:
            headers["Content-Type"] = "application/json"
        timestamp_ms = 0
        if is_open:
            target = path
        elif isinstance(credentials, Signed):
            # Signed each time: a timestamp counts once, even if its request or the answer was lost.
            timestamp_ms = self._clock.next_ms()
            # Where `user` says whose applications are meant, the signer has the other name.
            signer = "user.name" if "user" in parameters else "user"
            pairs += [(signer, credentials.user), ("timestamp", str(timestamp_ms))]
            if body is not None:
                pairs.append(("sha256", sha256_hex(body)))
            target = f"{path}?{urllib.parse.urlencode(pairs)}"
            headers["Authorization"] = sign_request(method, target, credentials.key)
        else:
            pairs.append(("user.name", credentials.user))
            target = f"{path}?{urllib.parse.urlencode(pairs)}"
            if changes:
                # No web page can send it.
                headers["X-Requested-By"] = "jobtracker_apps"
        answer = self._transport(self.server, method, target, headers, body, timeout_s)
        self._has_answered = True
        if answer.status < 400:
            self._clock.mark_used(timestamp_ms)
            return answer
        problem = problem_of(answer.status, answer.body)
        if answer.status != 401 and not isinstance(problem, Unavailable):
            self._clock.mark_used(timestamp_ms)
        raise problem

    # Cluster

    def info(self) -> ClusterInfo:
        """The server: version, scheduler, the smallest and the largest container."""
        answer = self.request("GET", f"{BASE}/info", is_open=True)
        return cast(ClusterInfo, json.loads(answer.body)["clusterInfo"])

    def nodes(self) -> list[NodeReport]:
        """All nodes; stock TaskTrackers have no memory and cores."""
        return cast(list[NodeReport], self.call("GET", "/nodes")["nodes"]["node"])

    def node(self, node_id: str) -> NodeReport:
        """One node by its id, `HOST:WEB PORT`."""
        return cast(NodeReport, self.call("GET", f"/nodes/{urllib.parse.quote(node_id, safe=':')}")["node"])

    # Applications

    def new_application(self) -> NewApplication:
        """An id to submit under within ten minutes."""
        return cast(NewApplication, self.call("POST", "/apps/new-application"))

    def submit(self, submission: Submission) -> Submitted:
        """Submits an application; answers its secret. The same submission again has the same answer."""
        return self.submit_json(submission.to_json())

    def submit_json(self, members: Mapping[str, Any]) -> Submitted:
        """The same for members as they are sent, such as those of an unattended application."""
        return cast(Submitted, self.call("POST", "/apps", body=encode(members)))

    def applications(
        self, *, states: Iterable[str] = (), queue: str | None = None, user: str | None = None
    ) -> Iterator[ApplicationReport]:
        """One's own applications, for administrators all or those of one user, newest first."""
        given = {"states": ",".join(states), "queue": queue, "user": user}
        for report in self._pages("/apps", "apps", "app", given):
            yield cast(ApplicationReport, report)

    def application(self, application_id: str, *, version: int | None = None, wait_ms: int = 0) -> ApplicationReport:
        """One application; with `version` not before it has another one, or after `wait_ms`."""
        parameters = {} if version is None else {"version": version, "wait-ms": wait_ms}
        answer = self.call("GET", f"/apps/{application_id}", parameters=parameters, wait_ms=wait_ms)
        return cast(ApplicationReport, answer["app"])

    def state(self, application_id: str) -> str:
        """ACCEPTED, RUNNING, FINISHED, FAILED or KILLED."""
        return str(self.call("GET", f"/apps/{application_id}/state")["state"])

    def kill(self, application_id: str) -> str:
        """Kills an application; returns its state, which is KILLED once no container is left."""
        body = encode({"state": "KILLED"})
        return str(self.call("PUT", f"/apps/{application_id}/state", body=body)["state"])

    # Containers

    def containers(
        self, application_id: str, *, states: Iterable[str] = (), failed: bool = False
    ) -> Iterator[ContainerReport]:
        """The containers of an application by number, also those that are complete."""
        given = {"states": ",".join(states), "failed": "true" if failed else None}
        for report in self._pages(f"/apps/{application_id}/containers", "containers", "container", given):
            yield cast(ContainerReport, report)

    def container(self, container_id: str) -> ContainerReport:
        """One container."""
        return cast(ContainerReport, self.call("GET", f"/containers/{container_id}")["container"])

    def shut_down_container(self, container_id: str, *, forceful: bool = False) -> None:
        """TERM, then KILL after the container's grace; forceful: KILL at once. Its exit status is -105."""
        command = "FORCEFUL_SHUTDOWN" if forceful else "GRACEFUL_SHUTDOWN"
        self.call("POST", f"/containers/{container_id}/signal/{command}")

    def log(self, container_id: str, name: str = "stdout", *, start: int = 0, end: int = -1) -> bytes:
        """A log of a container from its worker, from byte `start` to before `end`; negative ones count from the end of
        the log, -1 being the end. Empty if there is none."""
        answer = self.request("GET", f"{BASE}/containers/{container_id}/logs/{name}")
        location = urllib.parse.urlsplit(answer.headers.get("location", ""))
        if answer.status < 300 or not location.netloc:
            return answer.body
        query = [pair for pair in urllib.parse.parse_qsl(location.query) if pair[0] not in ("start", "end")]
        query += [("start", str(start)), ("end", str(end))]
        target = f"{location.path}?{urllib.parse.urlencode(query)}"
        try:
            # The ticket in the query is the permission; the key stays with the JobTracker.
            found = self._transport(location.netloc, "GET", target, {}, None, self._timeout_s)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(location.netloc, error) from error
        if found.status in (404, 410):
            return b""
        if found.status >= 300:
            raise problem_of(found.status, found.body)
        return found.body

    def _pages(self, path: str, plural: str, singular: str, given: Mapping[str, str | None]) -> Iterator[Json]:
        parameters: dict[str, Any] = {name: value for name, value in given.items() if value}
        parameters["limit"] = PAGE
        while True:
            answer = self.call("GET", path, parameters=parameters)
            yield from answer[plural][singular]
            after = answer.get("next")
            if not after:
                return
            parameters["after"] = after


def encode(members: Mapping[str, Any]) -> bytes:
    """A body as it is sent and digested."""
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
