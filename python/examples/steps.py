#!/usr/bin/env python3
"""Runs steps that depend on each other, each as soon as the steps before it have succeeded.

  steps.py PLAN.json                  run the steps of a plan
  steps.py --resume APPLICATION       continue after this program was stopped or killed, or its machine restarted

A plan names steps: {"steps": {"fetch": {"command": ["./fetch"]}, "sum": {"command": ["./sum"], "after": ["fetch"]}}}.
Members of a step: command (no shell), after, memory (MB, 512), vcores (1), max-attempts (1), time-limit-ms, environment.
Commands run in the directory of the plan, which the workers must find under the same name.

How far it is stands in the file APPLICATION.json (--state FOLDER, default the current directory), with the secret of the
application. While this program is stopped, containers run on; after --expiry seconds without it they are killed.

Exit codes: 0 all steps succeeded, 1 some did not, 2 wrong usage or refused, 4 the server does not answer, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from jobtracker_apps import (  # noqa: E402
    ApplicationError,
    ApplicationOver,
    Capability,
    Client,
    LaunchContext,
    Session,
    Submission,
    Task,
    TaskMaster,
    TaskState,
    Unavailable,
    Unreachable,
)

DONE, SOME_FAILED, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 4, 130
MEMBERS = {"command", "after", "memory", "vcores", "max-attempts", "time-limit-ms", "environment"}


class Plan:
    """Steps and what they wait for; numbered in the order of the file."""

    def __init__(self, members: dict[str, Any], folder: str) -> None:
        self.members = members
        self.folder = folder
        steps: dict[str, Any] = members.get("steps", {})
        if not steps:
            raise ValueError("the plan has no steps")
        self.after: dict[str, set[str]] = {}
        self.tasks: dict[str, Task] = {}
        for number, (name, step) in enumerate(steps.items(), start=1):
            unknown = step.keys() - MEMBERS
            if unknown or not step.get("command"):
                raise ValueError(
                    f"step {name}: " + (f"unknown: {', '.join(sorted(unknown))}" if unknown else "no command")
                )
            self.after[name] = set(step.get("after", ()))
            missing = self.after[name] - steps.keys()
            if missing:
                raise ValueError(f"step {name}: there is no step {', '.join(sorted(missing))}")
            self.tasks[name] = self._task(number, name, step)
        self._refuse_circles()

    def _task(self, number: int, name: str, step: dict[str, Any]) -> Task:
        context = LaunchContext(
            step["command"],
            environment=step.get("environment", {}),
            working_directory=self.folder,
            time_limit_ms=step.get("time-limit-ms"),
            placeholder=None,
        )
        capability = Capability(step.get("memory", 512), step.get("vcores", 1))
        return Task(number, context, capability, max_attempts=step.get("max-attempts", 1), name=name)

    def _refuse_circles(self) -> None:
        waiting = dict(self.after)
        while waiting:
            free = [name for name, before in waiting.items() if not before & waiting.keys()]
            if not free:
                raise ValueError(f"steps wait for each other: {', '.join(sorted(waiting))}")
            for name in free:
                del waiting[name]


class StateFile:
    """All that another process needs. Replaced as a whole, so that a crash leaves the old one or the new one."""

    def __init__(self, folder: str, application_id: str) -> None:
        self.path = os.path.join(folder, f"{application_id}.json")

    def read(self) -> dict[str, Any]:
        with open(self.path, encoding="utf-8") as file:
            members: dict[str, Any] = json.load(file)
        return members

    def write(self, members: dict[str, Any]) -> None:
        folder = os.path.dirname(self.path) or "."
        # Mode 0600: the secret is inside.
        handle, path = tempfile.mkstemp(prefix=".steps-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(members, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path, self.path)


class Steps(TaskMaster):
    """Adds a step once all steps before it have succeeded."""

    # A step that runs when this program ends is found again by --resume.
    ends_on_error = False

    def __init__(self, session: Session, plan: Plan, file: StateFile, state: dict[str, Any]) -> None:
        super().__init__(session)
        self.plan = plan
        self.file = file
        self.state = state
        for name, members in state["steps"].items():
            plan.tasks[name].restore(members)
        self.add_ready()

    def on_task_change(self, task: Task) -> None:
        self.state["steps"][task.name] = task.to_json()
        self.file.write(self.state)
        if task.state is TaskState.RUNNING:
            text = f"runs in {task.container_id} on {task.node_id}"
        elif task.state is TaskState.WAITING:
            text = f"exit {task.exit_status}, tried again: {task.diagnostics}"
        elif task.state is TaskState.FAILED:
            text = f"FAILED, exit {task.exit_status}: {task.diagnostics}"
        else:
            text = "SUCCEEDED"
        print(f"{task.name}: {text}", flush=True)
        self.add_ready()

    def add_ready(self) -> None:
        """Steps of which all steps before have succeeded."""
        succeeded = {name for name, task in self.plan.tasks.items() if task.state is TaskState.SUCCEEDED}
        for name, task in self.plan.tasks.items():
            if task.number not in self.tasks and self.plan.after[name] <= succeeded:
                self.add(task)

    def progress(self) -> float:
        return self.ended / len(self.plan.tasks)

    def is_done(self) -> bool:
        if not super().is_done():
            return False
        left = len(self.plan.tasks) - sum(task.state is TaskState.SUCCEEDED for task in self.plan.tasks.values())
        if left:
            self.stop("FAILED", f"{left} of {len(self.plan.tasks)} steps did not succeed")
        return True


def begin(client: Client, options: argparse.Namespace) -> tuple[StateFile, dict[str, Any]]:
    """The state of a new application, in its file before it is submitted: a crash in between loses nothing."""
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    folder = os.path.dirname(os.path.abspath(options.plan))
    Plan(plan, folder)
    application_id = client.new_application()["application-id"]
    submission = Submission(
        application_id,
        options.name or os.path.basename(options.plan),
        application_type="steps",
        queue=options.queue,
        expiry_ms=int(options.expiry * 1000),
    )
    state = {"plan": plan, "folder": folder, "submission": submission.to_json(), "secret": None, "steps": {}}
    state_file = StateFile(options.state, application_id)
    state_file.write(state)
    return state_file, state


def hold(client: Client, options: argparse.Namespace) -> Steps:
    """A new application, or one that was begun."""
    if options.resume:
        state_file = StateFile(options.state, options.resume)
        state = state_file.read()
    else:
        state_file, state = begin(client, options)
    application_id = state["submission"]["application-id"]
    if state["secret"] is None:
        # The same submission again has the same answer.
        state["secret"] = client.submit_json(state["submission"])["secret"]
        state_file.write(state)
    print(f"{application_id} holds the steps; to continue: steps.py --resume {application_id}", flush=True)
    session = Session(client, application_id, state["secret"])
    return Steps(session, Plan(state["plan"], state["folder"]), state_file, state)


def arguments() -> argparse.Namespace:
    about, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="steps.py", description=about, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("plan", nargs="?", metavar="PLAN.json", help="file with the steps")
    parser.add_argument("--resume", metavar="APPLICATION", help="continue an application")
    parser.add_argument("--state", default=".", metavar="FOLDER", help="where the state is (.)")
    parser.add_argument("--name", help="name of the application (that of the plan)")
    parser.add_argument("--queue", help="its queue")
    parser.add_argument(
        "--expiry", type=float, default=3600, metavar="SECONDS", help="silence after which it fails (3600)"
    )
    parser.add_argument("--server", help="HOST:PORT of the JobTracker's web address")
    parser.add_argument("--user", help="call as this user")
    parser.add_argument("--key-file", help="file with the secret key")
    options = parser.parse_args()
    if (options.plan is None) == (options.resume is None):
        parser.error("give either a plan or --resume")
    return options


def main() -> int:
    options = arguments()
    try:
        steps = hold(Client.find(options.server, options.user, options.key_file), options)
        try:
            final_status = steps.run()
        except ApplicationOver as over:
            # Of a run that ended just before it could report that.
            if over.state != "FINISHED" or not steps.is_done():
                raise
            final_status = over.state
    except KeyboardInterrupt:
        print("stopped; containers run on", file=sys.stderr)
        return INTERRUPTED
    except (Unreachable, Unavailable) as error:
        print(f"steps.py: {error}", file=sys.stderr)
        return UNREACHABLE
    except (ApplicationError, OSError, ValueError) as error:
        print(f"steps.py: {error}", file=sys.stderr)
        return USAGE
    left = [name for name, task in steps.plan.tasks.items() if task.state is not TaskState.SUCCEEDED]
    print(f"{final_status}: {len(steps.plan.tasks) - len(left)} of {len(steps.plan.tasks)} steps succeeded", flush=True)
    if left:
        print(f"not succeeded: {', '.join(left)}", flush=True)
        return SOME_FAILED
    return DONE


if __name__ == "__main__":
    sys.exit(main())
