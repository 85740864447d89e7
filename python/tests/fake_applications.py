"""Applications of the fake JobTracker: tables, grants, containers and the rules of repeated calls."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Optional

MINIMUM = {"memory": 512, "vCores": 1}
MAXIMUM = {"memory": 1048576, "vCores": 1024}
ALLOCATE_MEMBERS = {
    "attempt",
    "response-id",
    "progress",
    "wait-ms",
    "ask",
    "release",
    "specs",
    "launch",
    "blacklist",
}
ROW_MEMBERS = {
    "priority",
    "resource-name",
    "capability",
    "num-containers",
    "relax-locality",
    "allocation-request-id",
    "launch",
}
SUBMISSION_MEMBERS = {
    "application-id",
    "application-name",
    "application-type",
    "queue",
    "priority",
    "expiry-ms",
    "strict-gates",
    "tracking-url",
    "specs",
    "unattended",
    "ask",
}
LAUNCH_MEMBERS = {"container-id", "context", "spec", "item"}
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    503: "Unavailable",
}


class Refusal(Exception):
    """An answer that is a problem."""

    def __init__(self, status: int, name: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.members = {
            "type": f"/problems/{name}",
            "title": TITLES[status],
            "status": status,
            "detail": detail,
            **members,
        }


def refuse_unknown(members: dict, known: set, pointer: str, name: str = "invalid-request") -> None:
    """The strictness of the real server: no member that it does not know."""
    errors = [
        {"pointer": f"{pointer}/{member}", "detail": "unknown member"} for member in members if member not in known
    ]
    if errors:
        raise Refusal(400, name, "the body is not what this address takes", errors=errors)


@dataclass(frozen=True)
class Node:
    host: str
    rack: str = "/default-rack"

    @property
    def id(self) -> str:
        return f"{self.host}:50060"


@dataclass
class FakeContainer:
    id: str
    node: Node
    type: tuple
    locality: str
    resource_name: str
    state: str = "ALLOCATED"
    item: int | None = None
    launch: dict | None = None
    exit_status: int = -1000
    diagnostics: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    process: subprocess.Popen | None = None

    def granted(self, with_state: bool) -> dict:
        priority, memory, vcores, request = self.type
        members: dict = {
            "container-id": self.id,
            "node-id": self.node.id,
            "node-http-address": self.node.id,
            "rack": self.node.rack,
            "locality": self.locality,
            "resource-name": self.resource_name,
            "capability": {"memory": memory, "vCores": vcores},
            "priority": priority,
            "allocation-request-id": request,
        }
        if self.item is not None:
            members["item"] = self.item
        if with_state:
            members["state"] = self.state
        return members

    def status(self) -> dict:
        members: dict = {
            "container-id": self.id,
            "state": "COMPLETE",
            "exit-status": self.exit_status,
            "diagnostics": self.diagnostics,
            "node-id": self.node.id,
            "allocation-request-id": self.type[3],
        }
        if self.item is not None:
            members["item"] = self.item
        return members


def type_of(row: dict) -> tuple:
    """Priority, rounded capability, request id."""
    memory = -(-row["capability"]["memory"] // MINIMUM["memory"]) * MINIMUM["memory"]
    return row["priority"], memory, row["capability"]["vCores"], row.get("allocation-request-id", 0)


@dataclass
class Table:
    rows: dict = field(default_factory=dict)
    launch: dict | None = None
    items: list = field(default_factory=list)


class FakeApplication:
    """One application; all methods are called with the lock of the JobTracker."""

    def __init__(self, application_id: str, owner: str, secret: str, body: dict, most_told: int) -> None:
        self.id, self.owner, self.secret, self.body = application_id, owner, secret, body
        self.most_told = most_told
        self.changed = threading.Condition()
        self.state = "ACCEPTED"
        self.final_status, self.diagnostics = "UNDEFINED", ""
        self.attempt = self.response_id = self.version = 0
        self.taken: bytes | None = None
        self.last_answer: bytes | None = None
        self.waiter = 0
        self.tables: dict = {}
        self.specs: dict = dict(body.get("specs", {}))
        self.containers: dict = {}
        self.untold: list = []
        self.pending: list = []
        self.unacknowledged: list = []
        self.number = 0
        self.progress = 0.0
        self.blacklist: set = set()
        self.asked: list = []

    def is_over(self) -> bool:
        return self.state in ("FINISHED", "FAILED", "KILLED")

    def refuse_over(self) -> None:
        if self.is_over():
            raise Refusal(409, "application-over", f"it is {self.state}", state=self.state)

    def register(self) -> dict:
        self.refuse_over()
        self.attempt += 1
        self.waiter += 1
        self.state, self.response_id, self.taken, self.last_answer = "RUNNING", 0, None, None
        self.tables.clear()
        self.pending = self.unacknowledged + self.pending
        self.unacknowledged = []
        live = [container for container in self.containers.values() if container.state != "COMPLETE"]
        for container in live:
            if container.state == "ALLOCATED":
                container.state = "ACQUIRED"
        self.untold.clear()
        return {
            "attempt": self.attempt,
            "response-id": 0,
            "queue": self.body.get("queue", "default"),
            "maximum-resource-capability": MAXIMUM,
            "minimum-resource-capability": MINIMUM,
            "containers": [container.granted(with_state=True) for container in live],
        }

    # allocate

    def begin_call(self, body: bytes, call: dict) -> bytes | None:
        """The answer that there is already, or none: the call is taken in, and its answer is to be awaited."""
        refuse_unknown(call, ALLOCATE_MEMBERS, "#")
        self.refuse_over()
        if call["attempt"] < self.attempt:
            raise Refusal(409, "superseded", f"attempt {self.attempt} has registered")
        if self.state != "RUNNING" or call["attempt"] > self.attempt:
            raise Refusal(409, "resync", "not registered")
        if call["response-id"] == self.response_id - 1 and self.last_answer is not None:
            return self.last_answer
        if call["response-id"] != self.response_id or (self.taken is not None and self.taken != body):
            raise Refusal(409, "resync", f"the response-id is {self.response_id}")
        if self.taken is None:
            self.take_in(call)
            self.taken = body
        self.waiter += 1
        return None

    def take_in(self, call: dict) -> None:
        for index, row in enumerate(call.get("ask", ())):
            refuse_unknown(row, ROW_MEMBERS, f"#/ask/{index}", "invalid-resource-request")
            if row["capability"]["memory"] > MAXIMUM["memory"]:
                pointer = f"#/ask/{index}/capability/memory"
                raise Refusal(
                    400,
                    "invalid-resource-request",
                    "a row is wrong",
                    errors=[{"pointer": pointer, "detail": f"at most {MAXIMUM['memory']}"}],
                    exception="InvalidResourceRequestException",
                )
        for launch in call.get("launch", ()):
            refuse_unknown(launch, LAUNCH_MEMBERS, "#/launch")
        self.unacknowledged = []
        self.progress = call.get("progress", self.progress)
        self.unknown_releases = [one for one in call.get("release", ()) if not self.release(one)]
        self.specs.update(call.get("specs", {}))
        refused = [(one["container-id"], self.launch(one)) for one in call.get("launch", ())]
        self.unknown_launches = [{"container-id": one, "reason": reason} for one, reason in refused if reason]
        changes = call.get("blacklist", {})
        self.blacklist = (self.blacklist | set(changes.get("additions", ()))) - set(changes.get("removals", ()))
        self.asked.append([(row["resource-name"], row["num-containers"]) for row in call.get("ask", ())])
        for row in call.get("ask", ()):
            self.ask(row)
        for type_ in {type_of(row) for row in call.get("ask", ())}:
            if self.tables[type_].rows.get("*", 0) == 0:
                del self.tables[type_]

    def ask(self, row: dict) -> None:
        table = self.tables.setdefault(type_of(row), Table())
        name = row["resource-name"]
        untold = [one for one in self.untold if one.type == type_of(row)]
        counted = sum(name in self.counted_names(one) for one in untold)
        if name == "*":
            table.launch = row.get("launch")
            if table.launch and "items" in table.launch:
                told_items = {one.item for one in untold}
                table.items = [item for item in parse_items(table.launch["items"]) if item not in told_items]
        table.rows[name] = len(table.items) if table.items else max(0, row["num-containers"] - counted)

    @staticmethod
    def counted_names(container: FakeContainer) -> set:
        names = {"*"}
        if container.locality != "OFF_SWITCH":
            names.add(container.node.rack)
        if container.locality == "NODE_LOCAL":
            names.add(container.node.host)
        return names

    def has_news(self) -> bool:
        return bool(self.untold or self.pending)

    def answer_call(self, nodes: int) -> bytes:
        grants, self.untold = self.untold[: self.most_told], self.untold[self.most_told :]
        statuses, self.pending = self.pending[: self.most_told], self.pending[self.most_told :]
        for container in grants:
            if container.state == "ALLOCATED":
                container.state = "ACQUIRED"
        self.unacknowledged = statuses
        self.response_id += 1
        answer = {
            "attempt": self.attempt,
            "response-id": self.response_id,
            "has-more": self.has_news(),
            "allocated-containers": [container.granted(with_state=False) for container in grants],
            "completed-container-statuses": [container.status() for container in statuses],
            "unknown-releases": self.unknown_releases,
            "unknown-launches": self.unknown_launches,
            "limit": MINIMUM,
            "num-cluster-nodes": nodes,
        }
        self.taken = None
        self.last_answer = json.dumps(answer).encode()
        return self.last_answer

    # Containers

    def level(self, type_: tuple, node: Node) -> tuple | None:
        """How near a container of the type would be on a node, and by which row."""
        rows = self.tables[type_].rows
        if rows.get("*", 0) <= 0 or node.host in self.blacklist or node.rack in self.blacklist:
            return None
        if rows.get(node.host, 0) > 0 and rows.get(node.rack, 1) > 0:
            return "NODE_LOCAL", node.host
        if rows.get(node.rack, 0) > 0 and rows.get(node.host, 1) > 0:
            return "RACK_LOCAL", node.rack
        if self.body.get("strict-gates") and (rows.get(node.host) == 0 or rows.get(node.rack) == 0):
            return None
        return "OFF_SWITCH", "*"

    def grant(self, type_: tuple, node: Node) -> FakeContainer | None:
        level = self.level(type_, node)
        if level is None:
            return None
        self.number += 1
        container_id = f"container{self.id[len('application') :]}_{self.attempt:02}_{self.number:06}"
        container = FakeContainer(container_id, node, type_, *level)
        table = self.tables[type_]
        for name in self.counted_names(container):
            if table.rows.get(name, 0) > 0:
                table.rows[name] -= 1
        if table.launch:
            container.state = "LAUNCHING"
            container.launch = self.specs[table.launch["spec"]]
            container.item = table.items.pop(0) if table.items else None
        self.containers[container_id] = container
        self.untold.append(container)
        return container

    def launch(self, members: dict) -> str:
        """Why not, if so."""
        container = self.containers.get(members["container-id"])
        if container is None or container.state == "COMPLETE":
            return "it is complete" if container else "it is unknown"
        context = members["context"] if "context" in members else self.specs[members["spec"]]
        if container.launch is not None:
            return "" if container.launch == context else "it was launched otherwise"
        container.launch, container.item = context, members.get("item")
        container.state = "LAUNCHING"
        return ""

    def release(self, container_id: str) -> bool:
        container = self.containers.get(container_id)
        if container is None or container.state == "COMPLETE":
            return False
        self.complete(container, -100, "released by the application")
        return True

    def complete(self, container: FakeContainer, exit_status: int, diagnostics: str = "") -> None:
        if container.state == "COMPLETE":
            return
        if container.process is not None:
            container.process.kill()
        container.state, container.exit_status, container.diagnostics = "COMPLETE", exit_status, diagnostics
        self.pending.append(container)

    def end_if_done(self) -> None:
        """Of an unattended one: nothing is outstanding or held."""
        is_asking = any(table.rows.get("*", 0) for table in self.tables.values())
        containers = self.containers.values()
        if self.body.get("unattended") and not is_asking and all(one.state == "COMPLETE" for one in containers):
            is_good = all(one.exit_status == 0 for one in containers)
            self.end("FINISHED", "SUCCEEDED" if is_good else "FAILED", "")

    def end(self, state: str, final_status: str, diagnostics: str) -> None:
        if not self.is_over():
            self.state, self.final_status, self.diagnostics = state, final_status, diagnostics
            for container in self.containers.values():
                self.complete(container, -107, "the application has ended")


def parse_items(text: str) -> list:
    items: list = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        items += range(int(first), int(last or first) + 1)
    return items


def run_command(container: FakeContainer, application_id: str, server: str) -> tuple:
    """Runs what was launched, as a worker does; returns exit status and diagnostics."""
    context = container.launch or {}
    placeholder = context.get("placeholder", "{}")
    command = context["command"]
    if placeholder is not None and container.item is not None:
        command = [word.replace(placeholder, str(container.item)) for word in command]
    environment = {
        "PATH": os.environ["PATH"],
        **context.get("environment", {}),
        "JOBTRACKER_APPLICATION_ID": application_id,
        "JOBTRACKER_CONTAINER_ID": container.id,
        "JOBTRACKER_NODE_ID": container.node.id,
        "JOBTRACKER_SERVER": server,
    }
    if container.item is not None:
        environment["JOBTRACKER_ITEM"] = str(container.item)
    with tempfile.TemporaryDirectory() as folder:
        where = context.get("working-directory", folder)
        try:
            pipe = subprocess.PIPE
            container.process = subprocess.Popen(command, cwd=where, env=environment, stdout=pipe, stderr=pipe)
        except OSError as error:
            return -1000, f"cannot start {command[0]}: {error.strerror}"
        container.stdout, container.stderr = container.process.communicate()
        code = container.process.returncode
    return (code, "") if code >= 0 else (128 - code, "")
