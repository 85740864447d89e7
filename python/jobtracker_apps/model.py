"""What applications send: capabilities, launch contexts, submissions."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: The resource name of any node.
ANY = "*"
#: JSON as it is sent.
Json = dict[str, Any]


class Capability(NamedTuple):
    """What one container takes."""

    #: MB.
    memory: int
    vcores: int = 1

    def to_json(self) -> Json:
        return {"memory": self.memory, "vCores": self.vcores}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Capability:
        return cls(int(members["memory"]), int(members["vCores"]))

    def rounded(self, minimum: Capability) -> Capability:
        """As the server counts it: memory up to a multiple of the minimum, at least one core."""
        step = max(1, minimum.memory)
        return Capability(max(1, -(-self.memory // step)) * step, max(self.vcores, 1))


class RequestType(NamedTuple):
    """One table of requests: rows over hosts, racks and any node."""

    #: Smaller is served first.
    priority: int
    capability: Capability
    #: Tells types of one priority and capability apart.
    allocation_request_id: int = 0


@dataclass(frozen=True)
class LocalFile:
    """A file that the worker brings into the working directory, read-only."""

    resource: str
    sha256: str
    size: int
    #: Whether it is unpacked into a folder of its name.
    archive: bool = False
    executable: bool = False

    @classmethod
    def of(cls, path: str | os.PathLike[str], *, archive: bool = False) -> LocalFile:
        """A file of this machine, which the workers must find under the same name."""
        file = pathlib.Path(path).resolve()
        digest = hashlib.sha256()
        size = 0
        with open(file, "rb") as source:
            for part in iter(lambda: source.read(1 << 20), b""):
                digest.update(part)
                size += len(part)
        return cls(file.as_uri(), digest.hexdigest(), size, archive, os.access(file, os.X_OK))

    def to_json(self) -> Json:
        members: Json = {"resource": self.resource, "sha256": self.sha256, "size": self.size}
        if self.archive:
            members["type"] = "ARCHIVE"
        if self.executable:
            members["executable"] = True
        return members


@dataclass(frozen=True)
class Content:
    """A small file that comes with its context, at most 64 kB."""

    content: bytes
    executable: bool = False

    def to_json(self) -> Json:
        members: Json = {"content": base64.b64encode(self.content).decode()}
        if self.executable:
            members["executable"] = True
        return members


class _Log:
    """Output goes into the container's log."""

    def __repr__(self) -> str:
        return "LOG"


#: The default of `stdout` and `stderr`; None there means nowhere.
LOG = _Log()
#: The placeholder unless set.
PLACEHOLDER = "{}"


@dataclass(frozen=True)
class LaunchContext:
    """What a container runs."""

    #: Program and arguments; no shell.
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Files by their names in the working directory.
    local_resources: Mapping[str, LocalFile | Content] = field(default_factory=dict)
    #: An absolute path that exists on the worker; None: a folder of the container's own, removed at its end.
    working_directory: str | None = None
    stdout: str | None | _Log = LOG
    stderr: str | None | _Log = LOG
    time_limit_ms: int | None = None
    #: Time between TERM and KILL; None: the server's default, 5,000.
    kill_grace_ms: int | None = None
    #: Kill a container whose log is full, instead of cutting the log.
    kill_on_log_overflow: bool = False
    #: The text that stands for the item; None: no text does.
    placeholder: str | None = PLACEHOLDER
    #: The local resource whose line the placeholder stands for, instead of the item's number.
    values_from: str | None = None

    def to_json(self) -> Json:
        members: Json = {"command": list(self.command)}
        if self.environment:
            members["environment"] = dict(self.environment)
        if self.local_resources:
            members["local-resources"] = {name: file.to_json() for name, file in self.local_resources.items()}
        for name, place in (("stdout", self.stdout), ("stderr", self.stderr)):
            if not isinstance(place, _Log):
                members[name] = place
        if self.kill_on_log_overflow:
            members["log-overflow"] = "kill"
        if self.placeholder != PLACEHOLDER:
            members["placeholder"] = self.placeholder
        optional = {
            "working-directory": self.working_directory,
            "time-limit-ms": self.time_limit_ms,
            "kill-grace-ms": self.kill_grace_ms,
            "values-from": self.values_from,
        }
        members.update({name: value for name, value in optional.items() if value is not None})
        return members


@dataclass(frozen=True)
class Submission:
    """A new application that a program registers for."""

    #: One that `Client.new_application` gave.
    application_id: str
    name: str | None = None
    application_type: str | None = None
    queue: str | None = None
    priority: str | None = None
    #: Silence after which it has failed.
    expiry_ms: int | None = None
    #: Whether closed gates stay closed at every distance.
    strict_gates: bool = False
    tracking_url: str | None = None
    specs: Mapping[str, LaunchContext] = field(default_factory=dict)

    def to_json(self) -> Json:
        members: Json = {"application-id": self.application_id}
        optional: dict[str, Any] = {
            "application-name": self.name,
            "application-type": self.application_type,
            "queue": self.queue,
            "priority": self.priority,
            "expiry-ms": self.expiry_ms,
            "tracking-url": self.tracking_url,
        }
        members.update({name: value for name, value in optional.items() if value is not None})
        if self.strict_gates:
            members["strict-gates"] = True
        if self.specs:
            members["specs"] = {name: context.to_json() for name, context in self.specs.items()}
        return members


class Row(NamedTuple):
    """A row of `ask`: how many containers of a type are wanted at a name, from now on."""

    type: RequestType
    #: A host, a rack (begins with `/`), or `ANY`.
    resource_name: str
    num_containers: int
    relax_locality: bool = True
    #: `launch` of a row for any node.
    launch: Json | None = None

    def to_json(self) -> Json:
        members: Json = {
            "priority": self.type.priority,
            "resource-name": self.resource_name,
            "capability": self.type.capability.to_json(),
            "num-containers": self.num_containers,
        }
        if self.type.allocation_request_id:
            members["allocation-request-id"] = self.type.allocation_request_id
        if not self.relax_locality:
            members["relax-locality"] = False
        if self.launch is not None:
            members["launch"] = self.launch
        return members


def rows_to_json(rows: Sequence[Row]) -> list[Json]:
    """Rows as `ask` carries them."""
    return [row.to_json() for row in rows]
