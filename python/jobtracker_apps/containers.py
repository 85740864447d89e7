"""Containers as an application sees them, and what their exit statuses mean."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .model import Capability, LaunchContext, RequestType
from .reports import AllocatedContainer, CompletedContainer


class ContainerState(enum.Enum):
    """The server's states. An application learns of a grant (ACQUIRED) and of the end; of RUNNING only from reports."""

    ALLOCATED = "ALLOCATED"
    ACQUIRED = "ACQUIRED"
    LAUNCHING = "LAUNCHING"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"

    @property
    def is_launched(self) -> bool:
        """Whether a command was given to it."""
        return self in (ContainerState.LAUNCHING, ContainerState.RUNNING)


class ExitStatus:
    """Exit statuses that are not the process's own (0 to 255)."""

    NEVER_RAN = -1000
    RELEASED_EXPIRED_OR_LOST = -100
    DISK_FAILED = -101
    PREEMPTED = -102
    OVER_VIRTUAL_MEMORY = -103
    OVER_MEMORY = -104
    KILLED_BY_OWNER = -105
    KILLED_BY_ADMINISTRATOR = -106
    KILLED_WITH_APPLICATION = -107
    TOO_MUCH_LOG = -109
    OVER_TIME_LIMIT = -200
    OUTPUT_LOST = -201


_NO_OWN_FAULT = frozenset(
    {
        ExitStatus.RELEASED_EXPIRED_OR_LOST,
        ExitStatus.DISK_FAILED,
        ExitStatus.PREEMPTED,
        ExitStatus.KILLED_BY_OWNER,
        ExitStatus.KILLED_BY_ADMINISTRATOR,
        ExitStatus.KILLED_WITH_APPLICATION,
    }
)


def is_own_fault(exit_status: int) -> bool:
    """Whether an end counts as a failure of what ran: not what the cluster or a person ended."""
    return exit_status != 0 and exit_status not in _NO_OWN_FAULT


@dataclass
class Container:
    """A container that was granted."""

    id: str
    node_id: str
    state: ContainerState
    #: None of a container of which only its end is known.
    type: RequestType | None = None
    node_http_address: str = ""
    rack: str = ""
    #: NODE_LOCAL, RACK_LOCAL or OFF_SWITCH.
    locality: str = ""
    #: The row that gave the level.
    resource_name: str = ""
    item: int | None = None
    #: What this process launched in it.
    context: LaunchContext | None = None
    spec: str | None = None
    #: Once it is COMPLETE.
    exit_status: int | None = None
    diagnostics: str = ""

    @property
    def host(self) -> str:
        """The host of its node."""
        return self.node_id.rpartition(":")[0]

    @property
    def is_own_fault(self) -> bool:
        """Whether it ended and that counts as a failure."""
        return self.exit_status is not None and is_own_fault(self.exit_status)

    @classmethod
    def granted(cls, members: AllocatedContainer) -> Container:
        """From `allocated-containers`, or from `containers` of register."""
        type_ = RequestType(
            members["priority"], Capability.from_json(members["capability"]), members["allocation-request-id"]
        )
        return cls(
            members["container-id"],
            members["node-id"],
            ContainerState(members.get("state", "ACQUIRED")),
            type_,
            members.get("node-http-address", ""),
            members["rack"],
            members["locality"],
            members["resource-name"],
            members.get("item"),
        )

    @classmethod
    def ended(cls, members: CompletedContainer) -> Container:
        """From `completed-container-statuses`, of a container that this process did not know."""
        container = cls(members["container-id"], members.get("node-id", ""), ContainerState.RUNNING)
        container.item = members.get("item")
        return container

    def complete(self, exit_status: int, diagnostics: str) -> None:
        """Notes its end."""
        self.state = ContainerState.COMPLETE
        self.exit_status = exit_status
        self.diagnostics = diagnostics
