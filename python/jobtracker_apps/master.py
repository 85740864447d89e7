"""A master: registers an application, asks for containers, launches commands in them and handles their ends.

Subclass it and say what happens at a grant and at an end:

    class Hello(Master):
        def on_start(self, recovered):
            self.want(RequestType(1, Capability(512)), ANY, 2)

        def on_grant(self, container):
            self.launch(container, LaunchContext(["echo", "hello"]))

        def on_complete(self, container):
            print(container.id, container.exit_status)

        def is_done(self):
            return self.table.outstanding() == 0 and not self.containers

    client = Client.find()
    Hello(Session.submit(client, "hello")).run()

Everything happens in one thread, in `run`. The server repeats what it reported until the next call; that is made after
the methods above have returned. So what they store is stored before the server forgets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .containers import Container, ContainerState, ExitStatus
from .model import Json, LaunchContext, RequestType, rows_to_json
from .problems import ApplicationError, ApplicationOver, Resync, Superseded, Unreachable
from .reports import Allocated
from .request_table import LaunchOnGrant, RequestTable
from .session import Session


class Master:
    """One application while this process holds it."""

    #: Whether an error or Ctrl-C ends the application. If not, its containers run on until another process registers, or
    #: until it was silent for its `expiry-ms`.
    ends_on_error = True

    def __init__(self, session: Session, *, wait_ms: int = 10_000, tracking_url: str | None = None) -> None:
        self.session = session
        self.table = RequestTable()
        #: Containers that are not COMPLETE, by id.
        self.containers: dict[str, Container] = {}
        #: Nodes that take containers, once there was an answer.
        self.cluster_nodes: int | None = None
        self._wait_ms = wait_ms
        self._tracking_url = tracking_url
        self._specs: dict[str, LaunchContext] = {}
        self._blacklist: dict[str, None] = {}
        self._end: Sequence[str] | None = None
        # What the next call carries.
        self._launches: dict[str, Json] = {}
        self._releases: dict[str, None] = {}
        self._new_specs: dict[str, LaunchContext] = {}
        self._blacklist_changes: dict[str, bool] = {}
        self._has_more = False
        self._is_registered = False
        self._is_started = False
        # Containers of before a registration whose end the server has not reported yet.
        self._unlisted: dict[str, None] = {}

    # What happens; for subclasses

    def on_start(self, recovered: Sequence[Container]) -> None:
        """Registered. `recovered` are live containers of an earlier process, whose ends until now were reported before.

        For those that were not launched `on_grant` follows.
        """

    def on_grant(self, container: Container) -> None:
        """A container is there: `launch` or `release` it, or it expires; one that starts at its grant is LAUNCHING."""

    def on_complete(self, container: Container) -> None:
        """A container has ended: see `exit_status`, `is_own_fault`, `diagnostics`. May come twice after a restart."""

    def on_launch_refused(self, container_id: str, reason: str) -> None:
        """A container was not launched, mostly since its node is lost; its end is reported as well."""

    def is_done(self) -> bool:
        """Whether the application has ended: asked after each answer."""
        return False

    def progress(self) -> float | None:
        """0 to 1, or None."""
        return None

    # What a subclass may do

    def want(self, type_: RequestType, name: str, number: int, *, relax_locality: bool = True) -> None:
        """So many more containers at a host, a rack or `ANY`, beside those that were granted; 0: none."""
        self.table.want(type_, name, number, relax_locality=relax_locality)

    def launch(self, container: Container, context: LaunchContext, *, item: int | None = None) -> None:
        """Starts a command in a granted container."""
        container.context = context
        self._launch(container, item, {"context": context.to_json()})

    def launch_spec(self, container: Container, spec: str, *, item: int | None = None) -> None:
        """The same by the name of a stored context."""
        container.spec = spec
        self._launch(container, item, {"spec": spec})

    def store_spec(self, name: str, context: LaunchContext) -> None:
        """Stores a context at the server, for `launch_spec` and `LaunchOnGrant`."""
        self._specs[name] = self._new_specs[name] = context

    def want_items(self, type_: RequestType, launch: LaunchOnGrant, number: int | None = None) -> None:
        """Containers anywhere that start at their grant, one for each item."""
        self.table.want_items(type_, launch, number)

    def release(self, container: Container) -> None:
        """Gives a container back; what runs in it is killed. The request is not opened again."""
        self._launches.pop(container.id, None)
        self._releases[container.id] = None

    def avoid(self, name: str) -> None:
        """Nothing on this host or rack from now on."""
        self._blacklist[name] = None
        self._blacklist_changes[name] = True

    def stop_avoiding(self, name: str) -> None:
        """Containers on this host or rack again."""
        self._blacklist.pop(name, None)
        self._blacklist_changes[name] = False

    def stop(self, final_status: str = "SUCCEEDED", diagnostics: str = "") -> None:
        """Ends the application after this method: what still runs is killed."""
        self._end = (final_status, diagnostics)

    # The conversation

    def run(self) -> str:
        """Holds the application until it is done; returns its final status.

        `ApplicationOver`: it was ended from outside. `Superseded`: another process has registered.
        """
        try:
            self._start()
            while self._end is None and not self.is_done():
                self.step()
        except (ApplicationOver, Superseded, Unreachable):
            raise
        except BaseException as error:
            if self.ends_on_error and self._is_registered:
                is_interrupt = isinstance(error, KeyboardInterrupt)
                self._end_after(error, "KILLED" if is_interrupt else "FAILED")
            raise
        final_status, diagnostics = self._end or ("SUCCEEDED", "")
        self.session.unregister(final_status, diagnostics)
        return final_status

    def _start(self) -> None:
        self._register()
        if self.session.attempt > 1:
            # What has ended meanwhile, before anything is asked for again.
            self._has_more = True
            while self._has_more:
                self.step()
        self._is_started = True
        recovered = list(self.containers.values())
        self.on_start(recovered)
        for container in recovered:
            if not container.state.is_launched:
                self.on_grant(container)

    def step(self) -> None:
        """One call, and all that its answer reports."""
        rows = self.table.changes()
        members: dict[str, Any] = {
            "ask": rows_to_json(rows),
            "release": list(self._releases),
            "specs": {name: context.to_json() for name, context in self._new_specs.items()},
            "launch": list(self._launches.values()),
            "blacklist": self._blacklist_members(),
        }
        members = {name: value for name, value in members.items() if value}
        progress = self.progress()
        if progress is not None:
            members["progress"] = round(min(max(progress, 0.0), 1.0), 4)
        try:
            answer = self.session.allocate(members, 0 if self._has_more else self._wait_ms)
        except Resync:
            self._register()
            return
        self.table.mark_sent(rows)
        self._launches.clear()
        self._releases.clear()
        self._new_specs.clear()
        self._blacklist_changes.clear()
        self._handle(answer)

    def _handle(self, answer: Allocated) -> None:
        self._has_more = answer["has-more"]
        self.cluster_nodes = answer["num-cluster-nodes"]
        self.table.set_behind(self._has_more)
        grants = [Container.granted(members) for members in answer["allocated-containers"]]
        # A registration may have listed one already.
        grants = [container for container in grants if container.id not in self.containers]
        for container in grants:
            self._count(container)
        for container in grants:
            self.containers[container.id] = container
            if self._is_started:
                self.on_grant(container)
        for refused in answer["unknown-launches"]:
            self.on_launch_refused(refused["container-id"], refused["reason"])
        for status in answer["completed-container-statuses"]:
            container = self.containers.get(status["container-id"]) or Container.ended(status)
            self._complete(container, status["exit-status"], status["diagnostics"])
        if not self._has_more:
            for container_id in list(self._unlisted):
                # Not alive, and no end to come: the server has lost it.
                self._complete(
                    self.containers[container_id],
                    ExitStatus.RELEASED_EXPIRED_OR_LOST,
                    "the server does not list it any more",
                )

    def _count(self, container: Container) -> None:
        """Takes a grant off what is wanted, as the server has done."""
        if container.type is None:
            return
        if container.item is not None or self.table.launches_on_grant(container.type):
            container.state = ContainerState.LAUNCHING
        self.table.lower(container.type, container.locality, container.resource_name, container.rack, container.item)

    def _complete(self, container: Container, exit_status: int, diagnostics: str) -> None:
        self.containers.pop(container.id, None)
        self._unlisted.pop(container.id, None)
        self._launches.pop(container.id, None)
        container.complete(exit_status, diagnostics)
        self.on_complete(container)

    def _launch(self, container: Container, item: int | None, members: Json) -> None:
        container.item = item
        container.state = ContainerState.LAUNCHING
        launch: Json = {"container-id": container.id, **members}
        if item is not None:
            launch["item"] = item
        self._launches[container.id] = launch

    def _blacklist_members(self) -> dict[str, list[str]]:
        changes = self._blacklist_changes
        members = {
            "additions": [name for name, is_avoided in changes.items() if is_avoided],
            "removals": [name for name, is_avoided in changes.items() if not is_avoided],
        }
        return members if changes else {}

    def _register(self) -> None:
        answer = self.session.register(self._tracking_url)
        self._is_registered = True
        self.table.forget_sent()
        self._has_more = False
        self._new_specs = dict(self._specs)
        self._blacklist_changes = dict.fromkeys(self._blacklist, True)
        listed = {members["container-id"]: Container.granted(members) for members in answer["containers"]}
        self._unlisted = {container_id: None for container_id in self.containers if container_id not in listed}
        for container in listed.values():
            if not container.state.is_launched:
                container.state = ContainerState.ACQUIRED
            known = self.containers.get(container.id)
            if known is None:
                self.containers[container.id] = container
                if self._is_started:
                    self._count(container)
                    self.on_grant(container)
            elif container.state.is_launched:
                known.state = container.state
            elif known.state.is_launched:
                # The launch was lost with the conversation.
                self._launch(known, known.item, self._launch_members(known))

    def _launch_members(self, container: Container) -> Json:
        if container.context is not None:
            return {"context": container.context.to_json()}
        return {"spec": container.spec}

    def _end_after(self, error: BaseException, final_status: str) -> None:
        """Ends the application as well as that can be done; the first error is the one to see."""
        try:
            self.session.unregister(final_status, f"{type(error).__name__}: {error}"[:1000])
        except (ApplicationError, KeyboardInterrupt):
            pass
