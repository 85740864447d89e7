"""Answers of the server, typed: reports in Hadoop's camelCase, answers to calls with hyphens."""

from __future__ import annotations

from typing import TypedDict


class CapabilityJson(TypedDict):
    memory: int
    vCores: int


class ClusterInfo(TypedDict, total=False):
    id: int
    startedOn: int
    state: str
    time: int
    version: str
    schedulerName: str
    minimum: CapabilityJson
    maximum: CapabilityJson
    slot: CapabilityJson


class RequestReport(TypedDict, total=False):
    priority: int
    allocationRequestId: int
    resourceName: str
    capability: CapabilityJson
    numContainers: int
    relaxLocality: bool
    nodeLabelExpression: str
    items: str


class Why(TypedDict, total=False):
    priority: int
    capability: CapabilityJson
    reason: str


class ApplicationReport(TypedDict, total=False):
    id: str
    user: str
    name: str
    queue: str
    state: str
    finalStatus: str
    progress: float
    trackingUrl: str
    diagnostics: str
    clusterId: int
    applicationType: str
    priority: str
    startedTime: int
    finishedTime: int
    elapsedTime: int
    allocatedMB: int
    allocatedVCores: int
    runningContainers: int
    memorySeconds: int
    vcoreSeconds: int
    liveMemoryMB: int
    liveCpuMs: int
    preemptedContainers: int
    resourceRequests: list[RequestReport]
    attempt: int
    responseId: int
    version: int
    unattended: bool
    strictGates: bool
    slots: int
    cost: str | None
    pendingContainers: int
    completedContainers: int
    failedContainers: int
    failedItems: str
    why: list[Why]
    cannotRun: str


class ContainerReport(TypedDict, total=False):
    containerId: str
    applicationId: str
    attempt: int
    nodeId: str
    nodeHttpAddress: str
    rack: str
    locality: str
    priority: int
    allocationRequestId: int
    allocatedMB: int
    allocatedVCores: int
    slots: int
    item: int
    itemAttempt: int
    state: str
    killing: bool
    exitStatus: int
    diagnostics: str
    grantedTime: int
    launchedTime: int
    startedTime: int
    finishedTime: int
    memoryMB: int
    peakMemoryMB: int
    cpuMs: int


class NodeReport(TypedDict, total=False):
    id: str
    rack: str
    state: str
    nodeHostName: str
    nodeHTTPAddress: str
    lastHealthUpdate: int
    healthReport: str
    numContainers: int
    usedMemoryMB: int
    liveMemoryMB: int
    liveCpuMs: int
    availMemoryMB: int
    usedVirtualCores: int
    availableVirtualCores: int
    kind: str
    mapSlots: int
    reduceSlots: int
    slots: int


# The functional form: names with hyphens.
NewApplication = TypedDict(
    "NewApplication",
    {
        "application-id": str,
        "maximum-resource-capability": CapabilityJson,
        "minimum-resource-capability": CapabilityJson,
    },
)
Submitted = TypedDict("Submitted", {"application-id": str, "state": str, "secret": str})
AllocatedContainer = TypedDict(
    "AllocatedContainer",
    {
        "container-id": str,
        "node-id": str,
        "node-http-address": str,
        "rack": str,
        "locality": str,
        "resource-name": str,
        "capability": CapabilityJson,
        "priority": int,
        "allocation-request-id": int,
        # Where there is one.
        "item": int,
        # In the answer of register.
        "state": str,
    },
    total=False,
)
CompletedContainer = TypedDict(
    "CompletedContainer",
    {
        "container-id": str,
        "state": str,
        "exit-status": int,
        "diagnostics": str,
        "node-id": str,
        "allocation-request-id": int,
        # Where there is one.
        "item": int,
    },
    total=False,
)
RefusedLaunch = TypedDict("RefusedLaunch", {"container-id": str, "reason": str})
Registered = TypedDict(
    "Registered",
    {
        "attempt": int,
        "response-id": int,
        "queue": str,
        "maximum-resource-capability": CapabilityJson,
        "minimum-resource-capability": CapabilityJson,
        "containers": list[AllocatedContainer],
    },
)
Allocated = TypedDict(
    "Allocated",
    {
        "attempt": int,
        "response-id": int,
        "has-more": bool,
        "allocated-containers": list[AllocatedContainer],
        "completed-container-statuses": list[CompletedContainer],
        "unknown-releases": list[str],
        "unknown-launches": list[RefusedLaunch],
        "limit": CapabilityJson,
        "num-cluster-nodes": int,
    },
)
