"""Write applications for jobtracker: ask it for containers, start commands in them, learn how they ended.

`Client` has the HTTP addresses, `Session` the conversation of one application, `Master` and `TaskMaster` are to build on.
"""

from .client import Client
from .containers import Container, ContainerState, ExitStatus, is_own_fault
from .items import Items
from .locality import PlacedQueue, racks_by_host, racks_of_nodes
from .master import Master
from .model import ANY, LOG, Capability, Content, LaunchContext, LocalFile, RequestType, Row, Submission
from .problems import (
    ApplicationError,
    ApplicationExists,
    ApplicationOver,
    Forbidden,
    InvalidRequest,
    InvalidResourceRequest,
    MemberError,
    NoSuchAddress,
    NoSuchApplication,
    NoSuchContainer,
    NoSuchNode,
    Problem,
    Resync,
    SignatureRefused,
    Superseded,
    TimestampRefused,
    TooMany,
    Unavailable,
    Unreachable,
)
from .request_table import LaunchOnGrant, RequestTable
from .session import Session
from .signing import Signed, Unsigned, find_credentials, find_server, sign, sign_request
from .tasks import Task, TaskMaster, TaskState, states_of

__all__ = [
    "ANY",
    "LOG",
    "ApplicationError",
    "ApplicationExists",
    "ApplicationOver",
    "Capability",
    "Client",
    "Container",
    "ContainerState",
    "Content",
    "ExitStatus",
    "Forbidden",
    "InvalidRequest",
    "InvalidResourceRequest",
    "Items",
    "LaunchContext",
    "LaunchOnGrant",
    "LocalFile",
    "Master",
    "MemberError",
    "NoSuchAddress",
    "NoSuchApplication",
    "NoSuchContainer",
    "NoSuchNode",
    "PlacedQueue",
    "Problem",
    "RequestTable",
    "RequestType",
    "Resync",
    "Row",
    "Session",
    "SignatureRefused",
    "Signed",
    "Submission",
    "Superseded",
    "Task",
    "TaskMaster",
    "TaskState",
    "TimestampRefused",
    "TooMany",
    "Unavailable",
    "Unreachable",
    "Unsigned",
    "find_credentials",
    "find_server",
    "is_own_fault",
    "racks_by_host",
    "racks_of_nodes",
    "sign",
    "sign_request",
    "states_of",
]
