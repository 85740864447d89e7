"""A master of tasks: commands that must end with 0, are placed near their hosts, and are tried again if they fail."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .containers import Container
from .locality import PlacedQueue, RackOf
from .master import Master
from .model import Capability, Json, LaunchContext, RequestType
from .session import Session

#: How often a task may end without a fault of its own: a lost node, preemption.
MAX_RETURNS = 100


class TaskState(enum.Enum):
    """SUCCEEDED and FAILED are final."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @property
    def is_final(self) -> bool:
        return self in (TaskState.SUCCEEDED, TaskState.FAILED)


@dataclass
class Task:
    """A command, and how far it is."""

    #: Its item, 0 to 2^31-1: by it an other process recognizes what runs. The placeholder of the context stands for it.
    number: int
    context: LaunchContext
    capability: Capability = Capability(512)
    #: Hosts with its data.
    hosts: tuple[str, ...] = ()
    #: Smaller is served first.
    priority: int = 1
    #: How often it may fail, from 1.
    max_attempts: int = 1
    name: str = ""

    state: TaskState = TaskState.WAITING
    failures: int = 0
    #: Ends without a fault of its own.
    returns: int = 0
    #: The last container, and how it ended.
    container_id: str | None = None
    node_id: str = ""
    exit_status: int | None = None
    diagnostics: str = ""
    #: Containers whose end was counted: the server may report one again after a restart.
    ended_containers: list[str] = field(default_factory=list)

    def to_json(self) -> Json:
        """How far it is, for a file."""
        return {
            "state": self.state.value,
            "failures": self.failures,
            "returns": self.returns,
            "container-id": self.container_id,
            "node-id": self.node_id,
            "exit-status": self.exit_status,
            "diagnostics": self.diagnostics,
            "ended-containers": self.ended_containers,
        }

    def restore(self, members: Json) -> None:
        """How far it was. What was running is found among the containers; until then it waits."""
        state = TaskState(members["state"])
        self.state = state if state.is_final else TaskState.WAITING
        self.failures = members["failures"]
        self.returns = members["returns"]
        self.container_id = members["container-id"]
        self.node_id = members["node-id"]
        self.exit_status = members["exit-status"]
        self.diagnostics = members["diagnostics"]
        self.ended_containers = list(members["ended-containers"])


class TaskMaster(Master):
    """Runs tasks until each has succeeded or failed for good. Tasks of one priority and capability share a table.

    For tasks with hosts give their racks: `rack_of=racks_of_nodes(client.nodes())`.
    """

    def __init__(
        self, session: Session, tasks: Iterable[Task] = (), *, rack_of: RackOf | None = None, wait_ms: int = 10_000
    ) -> None:
        super().__init__(session, wait_ms=wait_ms)
        self.tasks: dict[int, Task] = {}
        #: Tasks that are final.
        self.ended = 0
        self._rack_of = rack_of
        self._minimum = Capability(1)
        self._queues: dict[RequestType, PlacedQueue[int]] = {}
        self._changed: set[RequestType] = set()
        self._may_wait = False
        for task in tasks:
            self.add(task)

    # For subclasses

    def on_task_change(self, task: Task) -> None:
        """A task has started, ended or waits again; what is stored here is stored before the server forgets it."""

    # What a program may do

    def add(self, task: Task) -> None:
        """A task to run, also while others run. One that has succeeded or failed before only counts."""
        if task.number in self.tasks:
            raise ValueError(f"task {task.number} is there already")
        self.tasks[task.number] = task
        self.ended += task.state.is_final
        if self._may_wait:
            self._wait(task)

    @property
    def failed(self) -> list[Task]:
        """Tasks that have failed for good."""
        return [task for task in self.tasks.values() if task.state is TaskState.FAILED]

    def is_done(self) -> bool:
        return self.ended == len(self.tasks)

    def progress(self) -> float | None:
        return self.ended / len(self.tasks) if self.tasks else None

    # What happens

    def on_start(self, recovered: Sequence[Container]) -> None:
        self._minimum = self.session.minimum
        for container in recovered:
            task = self.tasks.get(-1 if container.item is None else container.item)
            if task is not None and container.state.is_launched and not task.state.is_final:
                self._start_task(task, container)
            elif container.state.is_launched:
                self.release(container)
        self._may_wait = True
        for task in self.tasks.values():
            self._wait(task)

    def on_grant(self, container: Container) -> None:
        queue = self._queues.get(container.type) if container.type is not None else None
        number = queue.take(container.host, container.rack) if queue is not None else None
        if number is None:
            # More than is needed, or for a task that has ended meanwhile: free of charge.
            self.release(container)
            return
        task = self.tasks[number]
        if container.type is not None:
            self._changed.add(container.type)
        self.launch(container, task.context, item=number)
        self._start_task(task, container)

    def on_complete(self, container: Container) -> None:
        task = self.tasks.get(-1 if container.item is None else container.item)
        if task is None or task.state.is_final or container.id in task.ended_containers:
            return
        if container.exit_status is None:
            return
        task.container_id, task.node_id = container.id, container.node_id
        task.exit_status, task.diagnostics = container.exit_status, container.diagnostics
        task.ended_containers.append(container.id)
        if container.exit_status == 0:
            task.state = TaskState.SUCCEEDED
        else:
            if container.is_own_fault:
                task.failures += 1
            else:
                task.returns += 1
            is_out = task.failures >= task.max_attempts or task.returns > MAX_RETURNS
            task.state = TaskState.FAILED if is_out else TaskState.WAITING
        self.ended += task.state.is_final
        if self._may_wait:
            self._wait(task)
        self.on_task_change(task)

    def step(self) -> None:
        for type_ in self._changed:
            self.table.want_rows(type_, self._queues[type_].rows())
        self._changed.clear()
        super().step()

    def _start_task(self, task: Task, container: Container) -> None:
        task.state = TaskState.RUNNING
        task.container_id, task.node_id = container.id, container.node_id
        task.exit_status, task.diagnostics = None, ""
        self.on_task_change(task)

    def _wait(self, task: Task) -> None:
        if task.state is TaskState.WAITING:
            self._queue(task).add(task.number, task.hosts)
            self._changed.add(self._type_of(task))

    def _type_of(self, task: Task) -> RequestType:
        return RequestType(task.priority, task.capability.rounded(self._minimum))

    def _queue(self, task: Task) -> PlacedQueue[int]:
        return self._queues.setdefault(self._type_of(task), PlacedQueue(self._rack_of))


def states_of(tasks: Iterable[Task]) -> Mapping[TaskState, int]:
    """How many tasks are in each state."""
    counts = dict.fromkeys(TaskState, 0)
    for task in tasks:
        counts[task.state] += 1
    return counts
