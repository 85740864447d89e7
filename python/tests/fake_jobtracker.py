"""A JobTracker for tests: enough of the HTTP API, on a real port, with faults on demand.

With `works` it grants what is asked on its nodes and runs the commands; else tests grant and complete by hand.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any, Optional

from fake_applications import (
    MAXIMUM,
    MINIMUM,
    SUBMISSION_MEMBERS,
    FakeApplication,
    FakeContainer,
    Node,
    Refusal,
    refuse_unknown,
    run_command,
)

from jobtracker_apps.signing import sha256_hex, sign_request

BASE = "/ws/v1/cluster"
START_MS = 1700000000000
WINDOW_MS = 300_000


class LostConnection(Exception):
    """The connection is closed without an answer."""


class FakeJobTracker:
    """State and rules; `address` is where it listens."""

    def __init__(
        self, *, keys: dict | None = None, nodes: tuple = (Node("h1"),), works: bool = False, most_told: int = 1000
    ) -> None:
        #: User to key; none: the unsigned mode.
        self.keys = keys
        self.nodes = nodes
        self.works = works
        self.slots_of_node = 4
        self.most_told = most_told
        self.clock_ahead_ms = 0
        self.applications: dict = {}
        self.given_ids: dict = {}
        #: Faults by the end of a path, each used once: "lose request", "lose answer", "unavailable".
        self.faults: list = []
        #: Method, path and body of all requests that arrived.
        self.requests: list = []
        self.lock = threading.RLock()
        self.news = threading.Condition(self.lock)
        self._stamps: dict = {}
        self._is_stopping = False
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.jobtracker = self
        self.address = f"127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()

    def stop(self) -> None:
        with self.lock:
            self._is_stopping = True
            for application in self.applications.values():
                application.end("KILLED", "KILLED", "stopped")
            self.news.notify_all()
        self._http.shutdown()
        self._http.server_close()

    # For tests

    @property
    def only(self) -> FakeApplication:
        """The only application."""
        (application,) = self.applications.values()
        return application

    def fail(self, *faults: str, at: str) -> None:
        """The next requests to paths with this end have these faults."""
        self.faults += [(at, fault) for fault in faults]

    def grant(self, host: str, application: FakeApplication | None = None) -> FakeContainer | None:
        """A container of the first type that may have one on that host."""
        with self.lock:
            application = application or self.only
            node = next(node for node in self.nodes if node.host == host)
            for type_ in sorted(application.tables):
                container = application.grant(type_, node)
                if container is not None:
                    self.news.notify_all()
                    return container
            return None

    def complete(self, container: FakeContainer, exit_status: int = 0, diagnostics: str = "") -> None:
        with self.lock:
            self.only.complete(container, exit_status, diagnostics)
            self.news.notify_all()

    @contextlib.contextmanager
    def when(self, condition: Any, seconds: float = 10.0) -> Iterator[None]:
        """Waits until a condition holds, and keeps the lock."""
        with self.lock:
            if not self.news.wait_for(condition, seconds):
                raise AssertionError(f"it did not happen within {seconds} s")
            yield

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.clock_ahead_ms

    # Requests

    def fault_of(self, path: str) -> str | None:
        with self.lock:
            for index, (end, fault) in enumerate(self.faults):
                if path.endswith(end):
                    del self.faults[index]
                    return str(fault)
        return None

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple:
        """Status, headers and body."""
        path, _, query = target.partition("?")
        with self.lock:
            self.requests.append((method, path, body))
        fault = self.fault_of(path)
        if fault == "lose request":
            raise LostConnection
        if fault == "unavailable":
            raise Refusal(503, "unavailable", "the JobTracker is starting")
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        parameters = dict(pairs)
        if len(parameters) < len(pairs):
            raise Refusal(400, "invalid-request", "a parameter is repeated")
        if path.startswith("/ws/v1/node/"):
            return self.worker_log(path, parameters)
        if path == f"{BASE}/info":
            info = {
                "id": START_MS,
                "startedOn": START_MS,
                "state": "STARTED",
                "time": self.now_ms(),
                "version": "0.1.0",
            }
            return ok(
                {
                    "clusterInfo": {
                        **info,
                        "schedulerName": "FIFO",
                        "minimum": MINIMUM,
                        "maximum": MAXIMUM,
                        "slot": MINIMUM,
                    }
                }
            )
        caller = self.caller(method, target, parameters, headers, body)
        answer = self.route(method, path[len(BASE) :].strip("/").split("/"), parameters, caller, body)
        if fault == "lose answer":
            raise LostConnection
        return answer

    def caller(self, method: str, target: str, parameters: dict, headers: Any, body: bytes) -> str:
        user = parameters.get("user.name") or parameters.get("user", "")
        application = self.applications.get(user)
        key = application.secret if application else (self.keys or {}).get(user)
        if self.keys is None and key is None:
            if "user.name" not in parameters:
                raise Refusal(401, "signature-refused", "name the user: user.name")
            if method != "GET" and (not headers["X-Requested-By"] or headers["Content-Type"] != "application/json"):
                raise Refusal(401, "signature-refused", "X-Requested-By and a JSON content type are missing")
            return str(parameters["user.name"])
        is_digest = (parameters.get("sha256") == sha256_hex(body)) if body else True
        if key is None or not is_digest or headers["Authorization"] != sign_request(method, target, key):
            raise Refusal(401, "signature-refused", "no signature, or a wrong one")
        timestamp_ms, now_ms = int(parameters["timestamp"]), self.now_ms()
        with self.lock:
            if abs(timestamp_ms - now_ms) > WINDOW_MS or timestamp_ms <= self._stamps.get(user, 0):
                raise Refusal(401, "timestamp-refused", "used, too old or too far", **{"server-time-ms": now_ms})
            self._stamps[user] = timestamp_ms
        return user

    def route(self, method: str, parts: list, parameters: dict, caller: str, body: bytes) -> tuple:
        if parts == ["apps", "new-application"]:
            return self.new_application(caller)
        if parts == ["apps"]:
            return self.submit(caller, body) if method == "POST" else self.list_applications(parameters)
        if parts == ["nodes"]:
            nodes = [{"id": node.id, "nodeHostName": node.host, "rack": node.rack} for node in self.nodes]
            return ok({"nodes": {"node": nodes}})
        if parts[0] == "containers":
            return self.container(parts[1:], parameters)
        if parts[0] == "apps" and len(parts) > 1:
            application = self.applications.get(parts[1])
            if application is None:
                raise Refusal(404, "no-such-application", f"there is no application {parts[1]}")
            if caller not in (application.owner, application.id):
                raise Refusal(403, "forbidden", f"{parts[1]} belongs to {application.owner}")
            return self.application(method, application, parts[2:], parameters, body)
        raise Refusal(404, "no-such-address", "there is no such address")

    def new_application(self, caller: str) -> tuple:
        with self.lock:
            application_id = f"application_{START_MS}_{len(self.given_ids) + 1:04}"
            self.given_ids[application_id] = caller
        members = {"maximum-resource-capability": MAXIMUM, "minimum-resource-capability": MINIMUM}
        return ok({"application-id": application_id, **members})

    def submit(self, caller: str, body: bytes) -> tuple:
        members = json.loads(body)
        refuse_unknown(members, SUBMISSION_MEMBERS, "#")
        application_id = members["application-id"]
        with self.lock:
            if self.given_ids.get(application_id) != caller:
                raise Refusal(404, "no-such-application", f"{application_id} has lapsed")
            there = self.applications.get(application_id)
            if there is not None and there.body != members:
                raise Refusal(409, "application-exists", "it was submitted with another body")
            if there is None:
                secret = f"{len(self.applications) + 1:040x}"
                there = FakeApplication(application_id, caller, secret, members, self.most_told)
                self.applications[application_id] = there
                for row in members.get("ask", ()):
                    there.ask(row)
                self.work(there)
        answer = {"application-id": application_id, "state": there.state, "secret": there.secret}
        return 202, {"Location": f"{BASE}/apps/{application_id}"}, json.dumps(answer).encode()

    def list_applications(self, parameters: dict) -> tuple:
        of_user = parameters.get("user") if "user.name" in parameters else None
        ids = sorted((i for i, a in self.applications.items() if of_user in (None, a.owner)), reverse=True)
        return ok(page(ids, parameters, "apps", "app", lambda one: {"id": one, "state": self.applications[one].state}))

    def application(
        self, method: str, application: FakeApplication, rest: list, parameters: dict, body: bytes
    ) -> tuple:
        verb = rest[0] if rest else ""
        members = json.loads(body) if body else {}
        if verb == "allocate":
            return self.allocate(application, body, members)
        with self.lock:
            if verb == "register":
                answer = application.register()
            elif verb == "unregister":
                application.end("FINISHED", members["final-status"], members["diagnostics"])
                answer = {"state": application.state}
            elif verb == "state" and method == "PUT":
                application.end("KILLED", "KILLED", "killed")
                answer = {"state": application.state}
            elif verb == "state":
                answer = {"state": application.state}
            elif verb == "containers":
                ids = sorted(application.containers)
                answer = page(
                    ids, parameters, "containers", "container", lambda one: self.report(application.containers[one])
                )
            else:
                self.news.wait_for(
                    lambda: str(application.version) != parameters.get("version") or self._is_stopping,
                    int(parameters.get("wait-ms", 0)) / 1000,
                )
                answer = {"app": self.application_report(application)}
            self.news.notify_all()
        return ok(answer)

    @staticmethod
    def application_report(application: FakeApplication) -> dict:
        return {
            "id": application.id,
            "state": application.state,
            "finalStatus": application.final_status,
            "progress": application.progress * 100,
            "version": application.version,
        }

    def allocate(self, application: FakeApplication, body: bytes, call: dict) -> tuple:
        with self.lock:
            done = application.begin_call(body, call)
            if done is None:
                waiter = application.waiter
                self.work(application)
                self.news.notify_all()
                self.news.wait_for(
                    lambda: application.has_news() or application.waiter != waiter or self._is_stopping,
                    call.get("wait-ms", 0) / 1000,
                )
                if application.waiter != waiter:
                    raise Refusal(409, "superseded", "a newer call waits")
                application.refuse_over()
                done = application.answer_call(len(self.nodes))
        return 200, {}, done

    # Work

    def work(self, application: FakeApplication) -> None:
        """Grants what there is room for, nearest first, and starts what was launched."""
        if not self.works:
            return
        for near in ("NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH"):
            for type_ in sorted(application.tables):
                for node in self.nodes:
                    while self.room(node) and (application.level(type_, node) or ("",))[0] == near:
                        application.grant(type_, node)
        for container in application.containers.values():
            if container.state == "LAUNCHING":
                container.state = "RUNNING"
                threading.Thread(target=self.run, args=(application, container), daemon=True).start()

    def room(self, node: Node) -> bool:
        containers = (one for application in self.applications.values() for one in application.containers.values())
        return sum(one.node == node and one.state != "COMPLETE" for one in containers) < self.slots_of_node

    def run(self, application: FakeApplication, container: FakeContainer) -> None:
        exit_status, diagnostics = run_command(container, application.id, self.address)
        with self.lock:
            application.complete(container, exit_status, diagnostics)
            application.version += 1
            if not application.is_over():
                self.work(application)
                application.end_if_done()
            self.news.notify_all()

    # Containers

    def container(self, parts: list, parameters: dict) -> tuple:
        found = [one.containers[parts[0]] for one in self.applications.values() if parts[0] in one.containers]
        if not found:
            raise Refusal(404, "no-such-container", f"there is no container {parts[0]}")
        if parts[1:2] == ["logs"]:
            location = f"http://{self.address}/ws/v1/node/containers/{parts[0]}/logs/{parts[2]}?expires=1&ticket=ab"
            return 307, {"Location": location}, b""
        if parts[1:2] == ["signal"]:
            self.complete(found[0], -105, "killed by its owner")
            return ok({})
        return ok({"container": self.report(found[0])})

    @staticmethod
    def report(container: FakeContainer) -> dict:
        return {"containerId": container.id, "state": container.state, "exitStatus": container.exit_status}

    def worker_log(self, path: str, parameters: dict) -> tuple:
        _, container_id, _, name = path[len("/ws/v1/node/") :].split("/")
        if parameters.get("ticket") != "ab":
            raise Refusal(403, "forbidden", "no ticket")
        (container,) = [
            one.containers[container_id] for one in self.applications.values() if container_id in one.containers
        ]
        text = container.stdout if name == "stdout" else container.stderr
        start, end = (int(parameters.get(name, default)) for name, default in (("start", 0), ("end", -1)))
        # As Hadoop counts: -1 is the end.
        start, end = (max(0, place + len(text) + 1) if place < 0 else place for place in (start, end))
        return 200, {"Content-Type": "text/plain"}, text[start:end]


def ok(members: dict) -> tuple:
    return 200, {}, json.dumps(members).encode()


def page(ids: list, parameters: dict, plural: str, singular: str, report: Any) -> dict:
    after = parameters.get("after")
    begin = ids.index(after) + 1 if after else 0
    part = ids[begin : begin + int(parameters.get("limit", 100))]
    more = begin + len(part) < len(ids)
    return {plural: {singular: [report(one) for one in part]}, "next": part[-1] if more else None}


class _Server(http.server.ThreadingHTTPServer):
    jobtracker: FakeJobTracker
    daemon_threads = True


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            status, headers, content = self.server.jobtracker.answer(self.command, self.path, self.headers, body)
        except Refusal as refusal:
            members = {**refusal.members, "instance": self.path.partition("?")[0]}
            status, headers, content = (
                refusal.status,
                {"Content-Type": "application/problem+json"},
                json.dumps(members).encode(),
            )
        except LostConnection:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = handle_request

    def log_message(self, *_: Any) -> None:
        pass
